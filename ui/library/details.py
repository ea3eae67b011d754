"""One model's sheet: what its header says, how it would fit, and what can be done with it.

Shows what it is given and says by signal what the user wants; it touches no file.
"""

from html import escape

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from engine.api import ModelSheet, PrecisionFit
from ui.i18n import tr
from ui.icons import Icon, icon_pixmap, make_icon
from ui.library.rows import LibraryRow
from ui.library.words import (
    breakable,
    facts,
    fit_notes,
    precision_words,
)
from ui.theme import ThemeSource, set_look
from ui.widgets.fit import FIT_COLORS, FIT_ICONS, fit_words
from ui.widgets.units import bytes_quantity

MARGIN = 18
ICON = 14


class ModelDetails(QWidget):
    """A hint until ``set_row``; buttons follow what can be done with the row."""

    load_requested = Signal(str)
    reveal_requested = Signal(str)
    hide_requested = Signal(str)
    trash_requested = Signal(str)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._row: LibraryRow | None = None
        self._title = self._label("title")
        self._path = self._label("small")
        self._problem = self._label("danger")
        self._fits, self._fit_grid = self._card(tr("Will it fit?"))
        self._facts, self._fact_grid = self._card(tr("About the model"))
        self.load_button = QPushButton(tr("Load"), self)
        set_look(self.load_button, "primary")
        self._reveal = QPushButton(tr("Show in folder"), self)
        self._hide = QPushButton(tr("Remove from list"), self)
        self._trash = QPushButton(tr("Move to trash…"), self)
        set_look(self._trash, "danger")
        for button in (self.load_button, self._reveal, self._hide, self._trash):
            button.clicked.connect(self._on_button)
        self._hint = self._label("muted", tr("Choose a model to see what it is and needs."))
        self._hint.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._area = self._arrange()
        themes.changed.connect(self._on_theme)
        self._on_theme()
        self.set_row(None)

    def set_row(self, row: LibraryRow | None) -> None:
        """Show a model; None for no choice."""
        self._row = row
        self._area.setVisible(row is not None)
        self._hint.setVisible(row is None)
        if row is None:
            return
        self._title.setText(row.title)
        self._path.setText(breakable(row.path))
        self._path.setToolTip(f"<span>{escape(row.path)}</span>")
        self._problem.setText(breakable(row.problem))
        self._problem.setVisible(bool(row.problem))
        self.load_button.setEnabled(row.sheet is not None and not row.is_loaded)
        self.load_button.setText(tr("Loaded") if row.is_loaded else tr("Load"))
        self._trash.setEnabled(row.can_be_trashed and not row.is_loaded)
        self._trash.setToolTip(self._why_not_trashed(row))
        self._show_sheet(row, row.sheet)

    # ------------------------------------------------------------------ building

    def _arrange(self) -> QScrollArea:
        body = QWidget(self)
        set_look(body, "clear")
        # a narrow column wraps the lines; it never scrolls sideways
        body.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        first, second = QHBoxLayout(), QHBoxLayout()
        for row, buttons in (
            (first, (self.load_button, self._reveal)),
            (second, (self._hide, self._trash)),
        ):
            row.setSpacing(8)
            for button in buttons:
                row.addWidget(button)
            row.addStretch(1)
        column = QVBoxLayout(body)
        column.setContentsMargins(MARGIN, 12, MARGIN, 20)
        column.setSpacing(10)
        for widget in (self._title, self._path, self._problem):
            column.addWidget(widget)
        column.addLayout(first)
        column.addWidget(self._fits)
        column.addWidget(self._facts)
        column.addLayout(second)
        column.addStretch(1)
        area = QScrollArea(self)
        area.setWidgetResizable(True)
        area.setFrameShape(QFrame.Shape.NoFrame)
        area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        area.setWidget(body)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(0, 0, 0, 0)
        outer.addWidget(area)
        outer.addWidget(self._hint, 1)
        return area

    def _card(self, title: str) -> tuple[QFrame, QGridLayout]:
        card = QFrame(self)
        set_look(card, "card")
        card.setAccessibleName(title)
        heading = QLabel(title, card)
        set_look(heading, "heading")
        grid = QGridLayout()
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(6)
        column = QVBoxLayout(card)
        column.setContentsMargins(12, 10, 12, 10)
        column.setSpacing(8)
        column.addWidget(heading)
        column.addLayout(grid)
        return card, grid

    def _label(self, look: str, text: str = "") -> QLabel:
        label = QLabel(text, self)
        set_look(label, look)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        return label

    # ------------------------------------------------------------------ showing

    def _show_sheet(self, row: LibraryRow, sheet: ModelSheet | None) -> None:
        for grid in (self._fit_grid, self._fact_grid):
            while (item := grid.takeAt(0)) is not None:
                if (widget := item.widget()) is not None:
                    widget.hide()
                    widget.deleteLater()
        self._fits.setVisible(sheet is not None)
        self._facts.setVisible(sheet is not None)
        if sheet is None:
            return
        for number, line in enumerate(sheet.fits):
            is_default = line.precision is sheet.default
            self._add_fit(2 * number, line, is_default=is_default)
            if notes := fit_notes(line, sheet.context_length):
                self._fit_grid.addWidget(self._label("small", notes), 2 * number + 1, 0, 1, 4)
        for number, (name, value) in enumerate(facts(row, sheet)):
            label = self._label("small", name)
            label.setWordWrap(False)
            self._fact_grid.addWidget(label, number, 0)
            self._fact_grid.addWidget(self._label("fact", value), number, 1)
        self._fact_grid.setColumnStretch(1, 1)

    def _add_fit(self, number: int, line: PrecisionFit, *, is_default: bool) -> None:
        name = precision_words(line.precision)
        if is_default:
            name = tr("{name} (automatic)", name=name)
        icon = QLabel(self)
        size = self._themes.px(ICON)
        color = self._themes.color(FIT_COLORS[line.fit])
        icon.setPixmap(icon_pixmap(FIT_ICONS[line.fit], color, size, self.devicePixelRatioF()))
        need = tr("~{size}", size=str(bytes_quantity(line.num_bytes)))
        texts = (name, fit_words(line.fit), need)
        for column, text in zip((0, 2, 3), texts, strict=True):
            label = self._label("fact", text)
            label.setWordWrap(False)
            self._fit_grid.addWidget(label, number, column)
        self._fit_grid.addWidget(icon, number, 1)
        self._fit_grid.setColumnStretch(2, 1)

    @staticmethod
    def _why_not_trashed(row: LibraryRow) -> str:
        if row.is_loaded:
            return tr("Unload it first.")
        if not row.can_be_trashed:
            return tr("It belongs to another program, which should remove it.")
        return ""

    def _on_button(self) -> None:
        sender = self.sender()
        if self._row is None:
            return
        for button, signal in (
            (self.load_button, self.load_requested),
            (self._reveal, self.reveal_requested),
            (self._hide, self.hide_requested),
            (self._trash, self.trash_requested),
        ):
            if sender is button:
                signal.emit(self._row.path)

    def _on_theme(self) -> None:
        size = self._themes.px(ICON)
        muted = self._themes.color("muted")
        self._reveal.setIcon(make_icon(Icon.FOLDER, muted, size))
        self._reveal.setIconSize(QSize(size, size))
        if self._row is not None:
            self._show_sheet(self._row, self._row.sheet)
