import pytest
from PySide6.QtCore import QObject
from PySide6.QtGui import QTextDocument

from ui.richtext import highlight
from ui.richtext.code_colors import CODE_COLORS, CodeColors
from ui.richtext.highlight import MAX_CHARACTERS, Highlighter


@pytest.fixture
def shown(qapp):
    assert qapp is not None
    parent = QObject()
    document = QTextDocument(parent)

    def show(text):
        document.setPlainText(text)
        return Highlighter(document, parent)

    show.document = document
    show.parent = parent
    return show


def colored(document):
    found = {}
    block = document.begin()
    while block.isValid():
        for piece in block.layout().formats():
            text = block.text()[piece.start : piece.start + piece.length]
            found[text] = piece.format.foreground().color().name().upper()
        block = block.next()
    return found


def test_pieces_are_coloured_on_their_lines(qtbot, shown):
    text = 'x = 1\n\ndef f():\n    """Two\n    lines."""\n'
    highlighter = shown(text)
    highlighter.start(text, "python", CodeColors("light"))
    qtbot.waitUntil(lambda: not highlighter.is_running)
    found = colored(shown.document)
    light = CODE_COLORS["light"]
    assert found["1"] == light["Literal.Number"]
    assert found["def"] == light["Keyword"]
    assert found['"""Two'] == light["Literal.String"]
    assert found['    lines."""'] == light["Literal.String"]
    assert shown.document.toPlainText() == text


def test_the_work_is_done_in_slices(qtbot, shown, monkeypatch):
    monkeypatch.setattr(highlight, "SLICE_NS", 0)
    text = "x = 1\n" * 300
    highlighter = shown(text)
    slices = []
    highlighter._timer.timeout.connect(lambda: slices.append(1))
    highlighter.start(text, "python", CodeColors("dark"))
    qtbot.waitUntil(lambda: not highlighter.is_running)
    assert len(slices) > 10
    assert len(shown.document.lastBlock().previous().layout().formats()) > 0


@pytest.mark.parametrize("language", ["", "no-such-language", "../../etc"])
def test_unknown_languages_stay_plain(qtbot, shown, language):
    highlighter = shown("x = 1")
    highlighter.start("x = 1", language, CodeColors("light"))
    qtbot.waitUntil(lambda: not highlighter.is_running)
    assert not colored(shown.document)


def test_very_long_code_stays_plain(shown):
    text = "x" * (MAX_CHARACTERS + 1)
    highlighter = shown(text)
    highlighter.start(text, "python", CodeColors("light"))
    assert not highlighter.is_running
