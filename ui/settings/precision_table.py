"""The table of precisions: a row each, with memory, verdict, speed and loss; a click chooses.

Shows lines it is given and emits the choice; every row is a radio button, so the arrow keys move
the choice. Colours never stand alone: each verdict has its icon and its word.
"""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QRadioButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from engine.api import Fit
from ui.i18n import tr
from ui.icons import icon_pixmap
from ui.settings.precision_lines import (
    PrecisionLine,
    loss_explained,
    memory_words,
    remarks,
    spoken,
)
from ui.theme import RADIUS_CARD, RADIUS_CONTROL, ThemeSource, set_look
from ui.widgets.fit import FIT_COLORS, FIT_ICONS, fit_words
from ui.widgets.flow import FlowLayout

_DOT = 14
_ICON = 13
_SIDE = 12
_GAP = 10


class PrecisionRow(QRadioButton):
    """One line: name and memory above, verdict, speed and loss below."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._line: PrecisionLine | None = None
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self._name = self._label("heading")
        self._name.setWordWrap(True)
        self._memory = self._label("fact")
        self._icon = QLabel(self)
        self._fit = self._label("fact")
        self._remarks: list[QLabel] = []
        self._column = QVBoxLayout(self)
        self._head = QHBoxLayout()
        self._head.addWidget(self._name, 1)
        self._head.addWidget(self._memory)
        verdict = QWidget(self)
        verdict.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._verdict = QHBoxLayout(verdict)
        self._verdict.setContentsMargins(0, 0, 0, 0)
        self._verdict.addWidget(self._icon)
        self._verdict.addWidget(self._fit)
        self._flow = FlowLayout(_GAP, 2)
        self._flow.addWidget(verdict)
        self._column.addLayout(self._head)
        self._column.addLayout(self._flow)
        policy = QSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def key(self) -> str:
        """The setting's value that the row stands for."""
        return "" if self._line is None else self._line.key

    @property
    def texts(self) -> list[str]:
        """What is written in it."""
        labels = (self._name, self._memory, self._fit, *self._remarks)
        return [label.text() for label in labels]

    def set_line(self, line: PrecisionLine) -> None:
        """Show a line."""
        if line != self._line:
            self._line = line
            self._name.setText(line.name)
            self._memory.setText(memory_words(line))
            self._fit.setText(fit_words(line.fit))
            self._show_remarks(line)
            self.setAccessibleName(spoken(line))
            self.setAccessibleDescription(loss_explained(line))
            self.setToolTip(loss_explained(line))
        self.dress()

    def dress(self) -> None:
        """Take colours and sizes from the theme in force."""
        px = self._themes.px
        left = px(_SIDE) + px(_DOT) + px(_GAP)
        self._column.setContentsMargins(left, px(8), px(_SIDE), px(9))
        self._column.setSpacing(px(3))
        self._head.setSpacing(px(8))
        self._verdict.setSpacing(px(4))
        self._flow.set_gaps(px(_GAP), px(2))
        if self._line is not None:
            color = FIT_COLORS[self._line.fit]
            look = "danger-small" if self._line.fit is Fit.TOO_LARGE else "fact"
            set_look(self._fit, look)
            size = px(_ICON)
            self._icon.setPixmap(
                icon_pixmap(
                    FIT_ICONS[self._line.fit],
                    self._themes.color(color),
                    size,
                    self.devicePixelRatioF(),
                )
            )
        self.updateGeometry()
        self.update()

    @override
    def hitButton(self, pos: QPoint) -> bool:
        return self.rect().contains(pos)

    @override
    def sizeHint(self) -> QSize:
        return self._column.sizeHint()

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(0, self._column.minimumSize().height())

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        return self._column.heightForWidth(width)

    @override
    def paintEvent(self, e: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        themes, px = self._themes, self._themes.px
        box = QRectF(self.rect()).adjusted(3, 2, -3, -2)
        ground = "accent_soft" if self.isChecked() else "hover" if self.underMouse() else None
        painter.setPen(QPen(themes.color("accent"), 2) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(themes.color(ground) if ground else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, px(RADIUS_CONTROL), px(RADIUS_CONTROL))
        size = px(_DOT)
        middle = self._name.geometry().center().y()
        dot = QRectF(px(_SIDE), middle - size / 2 + 0.5, size, size).adjusted(1, 1, -1, -1)
        painter.setBrush(themes.color("surface"))
        painter.setPen(QPen(themes.color("accent" if self.isChecked() else "muted"), 1.5))
        painter.drawEllipse(dot)
        if self.isChecked():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(themes.color("accent"))
            inset = size * 0.22
            painter.drawEllipse(dot.adjusted(inset, inset, -inset, -inset))
        painter.end()

    def _show_remarks(self, line: PrecisionLine) -> None:
        for label in self._remarks:
            self._flow.removeWidget(label)
            label.hide()
            label.deleteLater()
        self._remarks = []
        for look, words in remarks(line):
            label = self._label(look)
            label.setText(words)
            self._flow.addWidget(label)
            label.show()
            self._remarks.append(label)

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        return label


class PrecisionTable(QFrame):
    """All rows in one card. ``chosen(key)``: the user wants that precision."""

    chosen = Signal(str)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._rows: list[PrecisionRow] = []
        set_look(self, "card")
        self.setAccessibleName(tr("Weight precisions for this model"))
        self._column = QVBoxLayout(self)
        self._column.setSpacing(0)
        themes.changed.connect(self._on_theme)
        self._on_theme()

    @property
    def rows(self) -> list[PrecisionRow]:
        """The rows, top to bottom."""
        return list(self._rows)

    def set_lines(self, lines: Sequence[PrecisionLine], selected: str) -> None:
        """Show these lines; ``selected`` is the key of the one in force."""
        if [line.key for line in lines] != [row.key for row in self._rows]:
            self._make_rows(len(lines))
        for row, line in zip(self._rows, lines, strict=True):
            row.set_line(line)
        self._check(selected)

    def _make_rows(self, count: int) -> None:
        for row in self._rows:
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()
        self._rows = [PrecisionRow(self._themes, self) for _ in range(count)]
        for row in self._rows:
            self._column.addWidget(row)
            row.clicked.connect(self._on_clicked)

    def _check(self, selected: str) -> None:
        for row in self._rows:
            row.setAutoExclusive(False)
            row.setChecked(row.key == selected)
        for row in self._rows:
            row.setAutoExclusive(True)

    def _on_clicked(self) -> None:
        sender = self.sender()
        if isinstance(sender, PrecisionRow):
            self.chosen.emit(sender.key)

    def _on_theme(self) -> None:
        side = self._themes.px((RADIUS_CARD - RADIUS_CONTROL) / 2)
        self._column.setContentsMargins(side, side, side, side)
        for row in self._rows:
            row.dress()
