"""The answer that is looked at beside another one of the same chat."""

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QComboBox, QLabel, QSizePolicy, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.inspector.answer.comparing import Comparison
from ui.inspector.fact_grid import FactGrid
from ui.theme import set_look
from ui.widgets.calm_box import CalmComboBox

_LEAST_CHARACTERS = 12


class ComparedSection(QWidget):
    """``chosen`` carries the other answer's message, None for none."""

    chosen = Signal(object)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: tuple[tuple[int, str], ...] = ()
        self.box = CalmComboBox(self)
        self.box.setAccessibleName(tr("Compare with"))
        self.box.setMinimumContentsLength(_LEAST_CHARACTERS)
        self.box.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.box.activated.connect(self._on_activated)
        self._sentence = QLabel(self)
        self._sentence.setWordWrap(True)
        self._sentence.setTextFormat(Qt.TextFormat.PlainText)
        set_look(self._sentence, "small")
        self.table = FactGrid(tr("Two answers compared"), self, gap=8)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        for part in (self.box, self._sentence, self.table):
            column.addWidget(part)
        self.show_comparison(None)

    @property
    def text(self) -> str:
        """The sentence."""
        return self._sentence.text()

    def set_others(self, rows: Sequence[tuple[int, str]], chosen: int | None) -> None:
        """Offer these: a message and its words each."""
        if tuple(rows) != self._rows:  # a box that is open for choosing must stay so
            self._rows = tuple(rows)
            with QSignalBlocker(self.box):
                self.box.clear()
                self.box.addItem(tr("nothing"), None)
                for message_id, words in rows:
                    self.box.addItem(words, message_id)
                    last = self.box.count() - 1
                    self.box.setItemData(last, words, Qt.ItemDataRole.ToolTipRole)
        self.box.setCurrentIndex(0 if chosen is None else max(0, self.box.findData(chosen)))

    def show_comparison(self, comparison: Comparison | None) -> None:
        """Show it; None: no other answer is chosen."""
        for part in (self._sentence, self.table):
            part.setVisible(comparison is not None)
        if comparison is not None:
            self._sentence.setText(comparison.sentence)
            self._sentence.setVisible(bool(comparison.sentence))
            self.table.set_table(comparison.table)

    def _on_activated(self) -> None:
        self.chosen.emit(self.box.currentData())
