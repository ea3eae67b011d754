"""Memory as a bar of its uses, and a line for each: what it is for, how much."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPainterPath, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from ui.i18n import mark, tr
from ui.inspector.machine.picture import MemoryPart, Use
from ui.theme import ThemeSource, set_look
from ui.widgets.units import bytes_quantity

_BAR = 10
_SWATCH = 10
_LEAST = 3.0
_TOKENS = {
    Use.WEIGHTS: "stage_prefill",
    Use.KV: "stage_decode",
    Use.WORKING: "stage_paint",
    Use.UNUSED: "stage_load",
    Use.RUNTIME: "stage_tokenize",
    Use.OTHERS: "stage_queue",
    Use.FREE: "track",
}


_NAMES = {
    Use.WEIGHTS: mark("weights"),
    Use.KV: mark("KV cache, in use"),
    Use.WORKING: mark("working memory"),
    Use.UNUSED: mark("reserved, not used"),
    Use.RUNTIME: mark("the program itself"),
    Use.OTHERS: mark("other programs"),
    Use.FREE: mark("free"),
}
_EXPLAINED = {
    Use.WEIGHTS: mark("The model's parameters, as they are kept in memory."),
    Use.KV: mark("Blocks of the cache that hold something."),
    Use.WORKING: mark("Activations, buffers, the window's pages and the allocator's reserve."),
    Use.UNUSED: mark("Kept by the allocator for the next tensors."),
    Use.RUNTIME: mark("This program as it was before a model was loaded."),
    Use.OTHERS: mark("Everything else on this machine, the system included."),
    Use.FREE: mark("Can be given to a program at once."),
}


def use_name(use: Use) -> str:
    """As a line says it."""
    return tr(_NAMES[use])


def use_explained(use: Use) -> str:
    """What belongs to it, in a sentence."""
    return tr(_EXPLAINED[use])


class MemoryBar(QWidget):
    """Parts side by side, to scale; one that is there at all is seen."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._parts: tuple[MemoryPart, ...] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    def set_parts(self, parts: Sequence[MemoryPart]) -> None:
        """Show these parts of their sum."""
        if tuple(parts) != self._parts:
            self._parts = tuple(parts)
            self.update()

    @override
    def sizeHint(self) -> QSize:
        return QSize(self._themes.px(200), self._themes.px(_BAR))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(40), self._themes.px(_BAR))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        clip = QPainterPath()
        radius = self.height() / 2
        clip.addRoundedRect(QRectF(self.rect()), radius, radius)
        painter.setClipPath(clip)
        painter.fillRect(self.rect(), self._themes.color("track"))
        total = sum(part.num_bytes for part in self._parts)
        left = 0.0
        for part in self._parts:
            if part.num_bytes <= 0 or part.use is Use.FREE:
                continue
            width = max(_LEAST, part.num_bytes / total * self.width())
            # one pixel of ground tells neighbours apart without colour
            box = QRectF(left, 0, width - 1, self.height())
            painter.fillRect(box, self._themes.color(_TOKENS[part.use]))
            left += width
        painter.end()


class _Swatch(QWidget):
    """The colour of a part beside its line."""

    def __init__(self, themes: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self._themes = themes
        self.use = Use.FREE
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    @override
    def sizeHint(self) -> QSize:
        side = self._themes.px(_SWATCH)
        return QSize(side, side)

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._themes.color(_TOKENS[self.use]))
        painter.drawRoundedRect(self.rect(), 2, 2)
        painter.end()


class MemoryPanel(QWidget):
    """Title, bar and lines; the lines are in the order of the bar."""

    def __init__(self, title: str, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self._themes = themes
        self._heading = self._label("heading")
        self._bar = MemoryBar(themes, self)
        self._note = self._label("small")
        self._note.setWordWrap(True)
        self._rows: list[tuple[_Swatch, QLabel, QLabel]] = []
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(self._heading)
        column.addWidget(self._bar)
        column.addLayout(self._grid)
        column.addWidget(self._note)

    @property
    def texts(self) -> list[str]:
        """The lines, name and size."""
        return [f"{name.text()} {size.text()}" for _s, name, size in self._rows]

    def set_parts(self, parts: Sequence[MemoryPart], note: str = "") -> None:
        """Show memory by its uses; a use of nothing has no line."""
        shown = [part for part in parts if part.num_bytes > 0]
        total = sum(part.num_bytes for part in parts)
        self._heading.setText(tr("{name}: {size}", name=self._title, size=bytes_quantity(total)))
        self._bar.set_parts(parts)
        while len(self._rows) < len(shown):
            self._add_row()
        for number, (swatch, name, size) in enumerate(self._rows):
            for widget in (swatch, name, size):
                widget.setVisible(number < len(shown))
            if number < len(shown):
                part = shown[number]
                swatch.use = part.use
                swatch.update()
                name.setText(use_name(part.use))
                name.setToolTip(use_explained(part.use))
                size.setText(str(bytes_quantity(part.num_bytes)))
        words = (f"{use_name(p.use)} {bytes_quantity(p.num_bytes)}" for p in shown)
        self._bar.setAccessibleName(self._heading.text())
        self._bar.setAccessibleDescription("; ".join(words))
        self._note.setText(note)
        self._note.setVisible(bool(note))

    def _add_row(self) -> None:
        row = len(self._rows)
        swatch, name, size = _Swatch(self._themes, self), self._label("fact"), self._label("fact")
        self._grid.addWidget(swatch, row, 0)
        self._grid.addWidget(name, row, 1)
        self._grid.addWidget(size, row, 2, Qt.AlignmentFlag.AlignRight)
        self._rows.append((swatch, name, size))

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label
