import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QVBoxLayout, QWidget
from shiboken6 import Shiboken
from typing_extensions import override

from ui.widgets.flow import FlowLayout


class Box(QWidget):
    """Wants a fixed size."""

    def __init__(self, width, height=10):
        super().__init__()
        self._size = QSize(width, height)

    @override
    def sizeHint(self):
        return self._size


@pytest.fixture
def flow(qtbot):
    owner = QWidget()
    qtbot.addWidget(owner)
    layout = FlowLayout(10, 4, owner)
    for width, height in ((40, 10), (40, 20), (40, 10)):
        layout.addWidget(Box(width, height))
    return owner, layout


def places(owner, width):
    owner.resize(width, 200)
    owner.show()
    layout = owner.layout()
    boxes = [layout.itemAt(n).geometry() for n in range(layout.count())]
    return [(box.x(), box.y(), box.width()) for box in boxes]


def test_side_by_side_and_centred_on_the_line(flow):
    owner, layout = flow
    assert places(owner, 140) == [(0, 5, 40), (50, 0, 40), (100, 5, 40)]
    assert layout.heightForWidth(140) == 20


def test_a_new_line_where_the_width_ends(flow):
    owner, layout = flow
    assert places(owner, 139) == [(0, 5, 40), (50, 0, 40), (0, 24, 40)]
    assert layout.heightForWidth(139) == 34


def test_what_is_wider_than_the_line_is_cut_to_it(flow):
    owner, layout = flow
    assert [width for _, _, width in places(owner, 30)] == [30, 30, 30]
    assert layout.minimumSize().width() == 0


def test_hidden_and_removed_widgets_take_no_room(flow):
    owner, layout = flow
    layout.itemAt(1).widget().hide()
    assert layout.heightForWidth(140) == 10
    layout.takeAt(0).widget().deleteLater()
    assert layout.count() == 2
    assert layout.itemAt(2) is None
    assert layout.takeAt(-1) is None
    layout.set_gaps(0, 0)
    assert layout.heightForWidth(40) == 10
    assert owner.layout() is layout


def test_without_widgets_there_is_no_height(qtbot):
    owner = QWidget()
    qtbot.addWidget(owner)
    assert FlowLayout(1, 1, owner).heightForWidth(50) == 0


def test_items_outlive_what_is_marked_as_deleted_above_them(qtbot):
    owner = QWidget()
    qtbot.addWidget(owner)
    column, layout = QVBoxLayout(owner), FlowLayout(10, 4)
    layout.addWidget(Box(40, 20))
    column.addLayout(layout)
    Shiboken.invalidate(column)
    assert layout.minimumSize() == QSize(0, 20)


def test_a_widget_that_is_deleted_leaves_the_line(qtbot, flow):
    owner, layout = flow
    first = layout.itemAt(0).widget()
    with qtbot.waitSignal(first.destroyed):
        first.deleteLater()
    assert places(owner, 200) == [(0, 0, 40), (50, 5, 40)]
