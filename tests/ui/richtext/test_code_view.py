import pytest
from PySide6.QtCore import Qt

from ui.richtext.blocks import Code
from ui.richtext.code_view import CodeView
from ui.theme import ThemeSource


@pytest.fixture
def view(qtbot):
    view = CodeView(ThemeSource())
    qtbot.addWidget(view)
    view.resize(400, 120)
    view.show()
    return view


def test_text_that_grows_is_added_not_set_anew(view):
    view.set_code(Code("a", "py", is_open=True))
    changes = []
    view.code.document().contentsChange.connect(lambda *change: changes.append(change))
    view.set_code(Code("a\nb", "py", is_open=True))
    assert view.code.document().toPlainText() == "a\nb"
    assert min(at for at, _removed, _added in changes) >= 1
    view.set_code(Code("other", "py"))
    assert view.code.document().toPlainText() == "other"


def test_long_lines_scroll_sideways_from_the_start(view):
    one = view.height_for(400)
    view.set_code(Code("x" * 500, ""))
    assert view.height_for(400) > one
    view.resize(400, view.height_for(400))
    bar = view.code.horizontalScrollBar()
    assert bar.maximum() > 0
    assert bar.value() == 0


def test_every_line_has_its_height(view):
    view.set_code(Code("a", ""))
    one = view.height_for(400)
    view.set_code(Code("a\nb\nc", ""))
    assert view.height_for(400) - one == 2 * 21


def test_copy_takes_the_code_only(qtbot, view, qapp):
    view.set_code(Code("print(1)\n", "python"))
    qtbot.mouseClick(view._copy, Qt.MouseButton.LeftButton)
    assert qapp.clipboard().text() == "print(1)\n"
    assert view._copy.text() == "Copied"
