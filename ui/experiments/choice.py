"""The list of experiments: a title and a line each, one of them chosen.

Wide it is a column of buttons, which arrow keys walk; narrow it is a box to choose from.
"""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QEnterEvent,
    QFocusEvent,
    QFont,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPen,
)
from PySide6.QtWidgets import (
    QAbstractButton,
    QApplication,
    QButtonGroup,
    QFrame,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)
from typing_extensions import override

from ui.experiments.rows import ExperimentRow
from ui.i18n import tr
from ui.theme import BASE_FONT_PX, RADIUS_CONTROL, SMALL_FONT_PX, ThemeSource, set_look
from ui.widgets.calm_box import CalmComboBox

_PAD = 10
_GAP = 2
_BY_KEYS = (
    Qt.FocusReason.TabFocusReason,
    Qt.FocusReason.BacktabFocusReason,
    Qt.FocusReason.ShortcutFocusReason,
)
_WRAP = int(Qt.TextFlag.TextWordWrap | Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)


class ExperimentButton(QAbstractButton):
    """One experiment in the column; as high as its line needs."""

    def __init__(self, row: ExperimentRow, themes: ThemeSource, parent: QWidget) -> None:
        super().__init__(parent)
        self.row = row
        self._themes = themes
        self._is_running = False
        self._shows_ring = False
        self.setText(row.title)
        self.setAccessibleName(row.title)
        self.setAccessibleDescription(row.line)
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def set_running(self, *, is_running: bool) -> None:
        """Mark the one that measures."""
        if is_running != self._is_running:
            self._is_running = is_running
            self.update()

    def _title_font(self) -> QFont:
        weight = QFont.Weight.DemiBold if self.isChecked() else QFont.Weight.Normal
        return self._themes.font(BASE_FONT_PX, weight)

    @override
    def hasHeightForWidth(self) -> bool:
        return True

    @override
    def heightForWidth(self, width: int) -> int:
        pad, room = self._themes.px(_PAD), QRect(0, 0, width, 10_000)
        room.adjust(pad, 0, -pad, 0)
        bold = QFontMetrics(self._themes.font(BASE_FONT_PX, QFont.Weight.DemiBold))
        small = QFontMetrics(self._themes.font(SMALL_FONT_PX))
        title = bold.boundingRect(room, _WRAP, self.row.title).height()
        line = small.boundingRect(room, _WRAP, self.row.line).height()
        return title + self._themes.px(_GAP) + line + 2 * self._themes.px(8)

    @override
    def sizeHint(self) -> QSize:
        width = self._themes.px(220)
        return QSize(width, self.heightForWidth(width))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        themes = self._themes
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(Qt.PenStyle.NoPen)
        if self.isChecked() or self.underMouse():
            painter.setBrush(themes.color("accent_soft" if self.isChecked() else "hover"))
            painter.drawRoundedRect(box, RADIUS_CONTROL, RADIUS_CONTROL)
        pad, top = themes.px(_PAD), themes.px(8)
        room = self.rect().adjusted(pad, top, -pad, 0)
        font = self._title_font()
        painter.setFont(font)
        painter.setPen(themes.color("text"))
        used = QFontMetrics(font).boundingRect(room, _WRAP, self.row.title).height()
        painter.drawText(room, _WRAP, self.row.title)
        room.adjust(0, used + themes.px(_GAP), 0, 0)
        painter.setFont(themes.font(SMALL_FONT_PX))
        painter.setPen(themes.color("accent" if self._is_running else "muted"))
        painter.drawText(room, _WRAP, tr("measuring…") if self._is_running else self.row.line)
        if self._shows_ring:
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(themes.color("accent"), 2))
            painter.drawRoundedRect(box, RADIUS_CONTROL, RADIUS_CONTROL)
        painter.end()

    @override
    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._shows_ring = event.reason() in _BY_KEYS

    @override
    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._shows_ring = False

    @override
    def enterEvent(self, event: QEnterEvent) -> None:
        self.update()
        super().enterEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.update()
        super().leaveEvent(event)


class Choice(QWidget):
    """Both forms. ``chosen`` carries the experiment's name."""

    chosen = Signal(str)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._rows: tuple[ExperimentRow, ...] = ()
        self._group = QButtonGroup(self)
        self._group.buttonClicked.connect(self._on_button)
        self._inside = QWidget(self)
        set_look(self._inside, "clear")
        self._buttons = QVBoxLayout(self._inside)
        self._buttons.setContentsMargins(8, 8, 8, 12)
        self._buttons.setSpacing(2)
        self._area = QScrollArea(self)
        self._area.setWidgetResizable(True)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setWidget(self._inside)
        self._box = CalmComboBox(self)
        self._box.setAccessibleName(tr("Experiment"))
        self._box.activated.connect(self._on_box)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self._box)
        column.addWidget(self._area, 1)
        themes.changed.connect(self._on_theme)
        self.set_narrow(is_narrow=False)

    def set_rows(self, rows: Sequence[ExperimentRow]) -> None:
        """Offer these; the first is chosen."""
        self._rows = tuple(rows)
        for number, row in enumerate(rows):
            button = ExperimentButton(row, self._themes, self._inside)
            self._group.addButton(button, number)
            self._buttons.addWidget(button)
            self._box.addItem(row.title, row.name)
        self._buttons.addStretch(1)
        if rows:
            self.choose(rows[0].name)

    def choose(self, name: str) -> None:
        """Mark one as chosen, without saying so."""
        for number, row in enumerate(self._rows):
            if row.name == name:
                button = self._group.button(number)
                button.setChecked(True)
                self._box.setCurrentIndex(number)
                self._area.ensureWidgetVisible(button)

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key stops, in order; of the buttons, at the checked one."""
        return [self._box, *self._group.buttons()]

    def set_running(self, name: str) -> None:
        """Mark the one that measures; an empty name for none."""
        for button in self._group.buttons():
            if isinstance(button, ExperimentButton):
                button.set_running(is_running=button.row.name == name)

    def set_narrow(self, *, is_narrow: bool) -> None:
        """A column, or a box."""
        shown, hidden = (self._box, self._area) if is_narrow else (self._area, self._box)
        focused = QApplication.focusWidget()
        has_focus = focused is not None and (hidden is focused or hidden.isAncestorOf(focused))
        shown.show()
        wanted = self._box if is_narrow else self._group.checkedButton()
        if has_focus and wanted is not None:  # else Qt would go to whatever comes next
            wanted.setFocus(Qt.FocusReason.OtherFocusReason)
        hidden.hide()
        margin = 12 if is_narrow else 0
        layout = self.layout()
        if layout is not None:
            layout.setContentsMargins(margin, margin, margin, 0)

    def focus(self) -> None:
        """Take the keyboard."""
        button = self._group.checkedButton()
        wanted: QWidget | None = self._box if self._box.isVisible() else button
        if wanted is not None:
            wanted.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_button(self, button: QAbstractButton) -> None:
        number = self._group.id(button)
        self._box.setCurrentIndex(number)
        self.chosen.emit(self._rows[number].name)

    def _on_box(self, number: int) -> None:
        self._group.button(number).setChecked(True)
        self.chosen.emit(self._rows[number].name)

    def _on_theme(self) -> None:
        for button in self._group.buttons():
            button.updateGeometry()
            button.update()
