import pytest
from PySide6.QtCore import QMimeData, Qt
from PySide6.QtGui import QInputMethodEvent

from ui.chat.input_box import AFTER_COMMIT_MS, MAX_LINES, InputBox
from ui.theme import ThemeSource


@pytest.fixture
def box(qtbot):
    box = InputBox(ThemeSource())
    qtbot.addWidget(box)
    box.resize(400, 40)
    box.show()
    box.setFocus()
    return box


@pytest.fixture
def sent(box):
    calls = []
    box.submitted.connect(lambda: calls.append(box.text()))
    return calls


def compose(box, preedit, commit=""):
    event = QInputMethodEvent(preedit, [])
    event.setCommitString(commit)
    box.inputMethodEvent(event)


def test_enter_sends_and_shift_enter_breaks_the_line(qtbot, box, sent):
    qtbot.keyClicks(box, "one")
    qtbot.keyClick(box, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(box, "two")
    assert not sent
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert [text.split("\n") for text in sent] == [["one", "two"]]
    qtbot.keyClick(box, Qt.Key.Key_Enter, Qt.KeyboardModifier.KeypadModifier)
    assert len(sent) == 2


def test_enter_while_composing_does_not_send(qtbot, box, sent):
    compose(box, "ni hao")
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert not sent
    assert box.is_composing


def test_the_enter_that_commits_does_not_send_but_the_next_does(qtbot, box, sent):
    compose(box, "ni hao")
    compose(box, "", commit="\u4f60\u597d")
    qtbot.keyPress(box, Qt.Key.Key_Return)
    assert not sent
    qtbot.keyRelease(box, Qt.Key.Key_Return)
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert sent == ["\u4f60\u597d"]


def test_a_commit_by_another_key_does_not_swallow_a_later_enter(qtbot, box, sent):
    compose(box, "hao")
    compose(box, "", commit="\u597d")
    qtbot.wait(AFTER_COMMIT_MS * 2)
    qtbot.keyClick(box, Qt.Key.Key_Return)
    assert sent == ["\u597d"]


def test_up_in_an_empty_box_recalls_and_escape_is_reported(qtbot, box):
    with qtbot.waitSignal(box.recalled):
        qtbot.keyClick(box, Qt.Key.Key_Up)
    with qtbot.waitSignal(box.escaped):
        qtbot.keyClick(box, Qt.Key.Key_Escape)
    qtbot.keyClicks(box, "x")
    with qtbot.assertNotEmitted(box.recalled):
        qtbot.keyClick(box, Qt.Key.Key_Up)


def test_it_grows_to_ten_lines_and_then_scrolls(box):
    heights = []
    for lines in (1, 2, 5, MAX_LINES, MAX_LINES + 5):
        box.set_text("\n".join("line" for _ in range(lines)))
        heights.append(box.height())
    assert heights[0] < heights[1] < heights[2] < heights[3] == heights[4]


def test_paste_is_plain_text(box):
    data = QMimeData()
    data.setHtml("<b>bold</b> <img src='file:///etc/passwd'>")
    data.setText("bold")
    box.insertFromMimeData(data)
    assert box.text() == "bold"
    assert "font-weight" not in box.toHtml().split("<body")[-1].replace("font-weight:400", "")


def ink_bottom(box):
    """The lowest row in which anything but the ground is painted."""
    image = box.viewport().grab().toImage()
    ground = image.pixel(image.width() - 1, 0)
    rows = range(image.height() - 1, -1, -1)
    return next(y for y in rows if any(image.pixel(x, y) != ground for x in range(2, 200)))


def test_the_placeholder_stands_where_the_text_will(box):
    box.clearFocus()  # no caret
    box.set_placeholder("HHH")
    waiting = ink_bottom(box)
    box.set_text("HHH")
    assert ink_bottom(box) == waiting


def test_the_placeholder_follows_the_zoom(box, qapp):
    box.set_placeholder("HHH")
    box.clearFocus()
    before = ink_bottom(box)
    box._look.set(box._look.theme, 2.0)
    box.resize(400, 80)
    qapp.processEvents()
    assert ink_bottom(box) > 1.5 * before
