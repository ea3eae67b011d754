"""Memory as a bar of its uses, and a line for each: what it is for, how much."""

from collections.abc import Sequence

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from ui.i18n import mark, tr
from ui.inspector.machine.picture import MemoryPart, Use
from ui.theme import ThemeSource, set_look
from ui.widgets.parts_bar import Part, PartsBar
from ui.widgets.units import bytes_quantity

_SWATCH = 10
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


def _bar_part(part: MemoryPart) -> Part:
    name = use_name(part.use)
    words = f"{name} {bytes_quantity(part.num_bytes)}"
    return Part(_TOKENS[part.use], part.num_bytes, name, words)


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
        self._bar = PartsBar(themes, self)
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
        used = [part for part in shown if part.use is not Use.FREE]  # the rest is track
        self._bar.set_parts([_bar_part(part) for part in used], total)
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
        words = (_bar_part(part).description for part in shown)
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
