import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from ui.chat.rows import Reasoning
from ui.chat.thought_block import ThoughtBlock
from ui.theme import ThemeSource

WORDS = "First the moon.\nThen the sun."


@pytest.fixture
def block(qtbot):
    parent = QWidget()
    qtbot.addWidget(parent)
    parent.resize(500, 300)
    block = ThoughtBlock(ThemeSource(), parent)
    parent.show()
    yield block
    parent.deleteLater()


def test_nothing_is_shown_without_a_reasoning(block):
    block.show_reasoning(None, is_live=False)
    assert block.isHidden()
    assert block.tab_stops() == []


def test_while_it_streams_the_line_shows_the_newest_words(block):
    block.show_reasoning(Reasoning(WORDS, 8, 500_000_000), is_live=True)
    assert block.line.text() == "Thinking… · 8 tokens"
    assert block.line.preview == "First the moon. Then the sun."
    assert not block.is_open


def test_afterwards_it_says_how_long_and_opens_by_the_keyboard(qtbot, block):
    block.show_reasoning(Reasoning(WORDS, 214, 3_200_000_000), is_live=False)
    assert block.line.text() == "Thought for 3.2 s · 214 tokens"
    assert block.line.accessibleName().endswith(", folded")
    folded = block.height_for(400)
    with qtbot.waitSignal(block.height_changed):
        qtbot.keyClick(block.line, Qt.Key.Key_Space)
    assert block.is_open
    assert block.height_for(400) > folded
    assert block.text.toPlainText() == WORDS
    assert block.line.accessibleName().endswith(", shown")
    block.copy.click()
    assert QGuiApplication.clipboard().text() == WORDS


def test_an_open_block_grows_with_the_stream(block):
    block.set_open(is_open=True)
    for end in (5, 16, len(WORDS)):
        block.show_reasoning(Reasoning(WORDS[:end], end), is_live=True)
        assert block.text.toPlainText() == WORDS[:end]
    assert block.line.preview == ""
    block.show_reasoning(Reasoning("Anew.", 1), is_live=True)
    assert block.text.toPlainText() == "Anew."
