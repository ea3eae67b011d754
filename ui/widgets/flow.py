"""A layout that sets widgets side by side and begins a new line where the width ends.

Knows geometry only. What stands in one line is centred on it; a widget that is wider than the
line is cut to it.
"""

from PySide6.QtCore import QPoint, QRect, QSize, Qt
from PySide6.QtWidgets import QLayout, QLayoutItem, QWidget, QWidgetItem
from typing_extensions import override


class FlowLayout(QLayout):
    """Items from left to right, then from top to bottom; hidden ones take no room."""

    def __init__(self, gap: int, line_gap: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._items: list[QLayoutItem] = []
        # Qt asks for the same height some dozen times in one pass
        self._heights: dict[int, int] = {}
        self._gap = gap
        self._line_gap = line_gap
        self.setContentsMargins(0, 0, 0, 0)

    def set_gaps(self, gap: int, line_gap: int) -> None:
        """Change the room between items and between lines, in pixels."""
        self._gap, self._line_gap = gap, line_gap
        self.invalidate()

    @override
    def addWidget(self, w: QWidget) -> None:
        # An item that Qt makes counts as deleted for Python as soon as a wrapper above it does,
        # and asking it then ends the process. One made here lives as long as Qt keeps it.
        self.addChildWidget(w)
        self.addItem(QWidgetItem(w))

    @override
    def addItem(self, item: QLayoutItem) -> None:
        self._items.append(item)

    @override
    def count(self) -> int:
        return len(self._items)

    @override
    def itemAt(self, index: int) -> QLayoutItem | None:
        return self._items[index] if 0 <= index < len(self._items) else None

    @override
    def takeAt(self, index: int) -> QLayoutItem | None:
        return self._items.pop(index) if 0 <= index < len(self._items) else None

    @override
    def expandingDirections(self) -> Qt.Orientation:
        return Qt.Orientation(0)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        if width not in self._heights:
            self._heights[width] = self._place(QRect(0, 0, width, 0), is_real=False)
        return self._heights[width]

    @override
    def invalidate(self) -> None:
        self._heights.clear()
        super().invalidate()

    @override
    def setGeometry(self, rect: QRect) -> None:
        super().setGeometry(rect)
        self._place(rect, is_real=True)

    @override
    def sizeHint(self) -> QSize:
        return self.minimumSize()

    @override
    def minimumSize(self) -> QSize:
        # the widest item would keep a narrow panel wide: it is cut instead
        height = max((item.sizeHint().height() for item in self._shown()), default=0)
        return QSize(0, height)

    def _shown(self) -> list[QLayoutItem]:
        return [item for item in self._items if not item.isEmpty()]

    def _place(self, rect: QRect, *, is_real: bool) -> int:
        """Set the items into ``rect``, or only reckon; the height they take."""
        bottom = rect.y()
        for number, line in enumerate(self._lines(rect.width())):
            top = bottom + (self._line_gap if number else 0)
            height = max(item.sizeHint().height() for item in line)
            x = rect.x()
            for item in line if is_real else ():
                size = item.sizeHint().boundedTo(QSize(rect.width(), height))
                item.setGeometry(QRect(QPoint(x, top + (height - size.height()) // 2), size))
                x += size.width() + self._gap
            bottom = top + height
        return bottom - rect.y()

    def _lines(self, width: int) -> list[list[QLayoutItem]]:
        """What stands side by side."""
        lines: list[list[QLayoutItem]] = []
        room = 0
        for item in self._shown():
            needed = min(item.sizeHint().width(), width)
            if not lines or needed > room:
                lines.append([])
                room = width
            lines[-1].append(item)
            room -= needed + self._gap
        return lines
