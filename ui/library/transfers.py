"""Fetches under way: one row each, with its progress, its words and its buttons."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from ui.i18n import tr
from ui.library.rows import TransferRow, TransferStatus
from ui.library.words import transfer_words
from ui.theme import set_look

_STEPS = 1_000


class TransferView(QFrame):
    """One fetch."""

    stop_requested = Signal(int)
    resume_requested = Signal(int)
    discard_requested = Signal(int)

    def __init__(self, row: TransferRow, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        set_look(self, "card")
        self._title = self._label("")
        self._words = self._label("small")
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self._bar.setRange(0, _STEPS)
        self.stop_button = QPushButton(tr("Stop"), self)
        self.resume_button = QPushButton(tr("Go on"), self)
        self.discard_button = QPushButton(tr("Discard"), self)
        self.stop_button.clicked.connect(self._stop)
        self.resume_button.clicked.connect(self._resume)
        self.discard_button.clicked.connect(self._discard)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.stop_button, self.resume_button, self.discard_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 10, 12, 10)
        column.setSpacing(6)
        for widget in (self._title, self._bar, self._words):
            column.addWidget(widget)
        column.addLayout(buttons)
        self.set_row(row)

    def set_row(self, row: TransferRow) -> None:
        """Show how it stands now."""
        self.row = row
        words = transfer_words(row)
        self._title.setText(row.title)
        self._words.setText(words)
        set_look(self._words, "danger-small" if row.problem else "small")
        share = row.done_bytes / row.total_bytes if row.total_bytes else 1.0
        self._bar.setValue(round(share * _STEPS))
        self._bar.setAccessibleName(f"{row.title}: {words}")
        is_done = row.status is TransferStatus.DONE
        self.stop_button.setVisible(row.status.is_active)
        self.resume_button.setVisible(not row.status.is_active and not is_done)
        self.discard_button.setVisible(not row.status.is_active)
        self.discard_button.setText(tr("Close") if is_done else tr("Discard"))

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        return label

    def _stop(self) -> None:
        self.stop_requested.emit(self.row.key)

    def _resume(self) -> None:
        self.resume_requested.emit(self.row.key)

    def _discard(self) -> None:
        self.discard_requested.emit(self.row.key)


class TransferList(QWidget):
    """All fetches, the first one first; hidden while there is none."""

    stop_requested = Signal(int)
    resume_requested = Signal(int)
    discard_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._views: dict[int, TransferView] = {}
        heading = QLabel(tr("Downloads"), self)
        set_look(heading, "heading")
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(8)
        self._column.addWidget(heading)
        self.hide()

    @property
    def views(self) -> Sequence[TransferView]:
        """The rows, top to bottom."""
        return tuple(self._views.values())

    def set_rows(self, rows: Sequence[TransferRow]) -> None:
        """Show these; rows that stay keep their widgets and the focus."""
        wanted = {row.key for row in rows}
        for key in [key for key in self._views if key not in wanted]:
            view = self._views.pop(key)
            view.hide()
            view.deleteLater()
        for row in rows:
            if row.key in self._views:
                self._views[row.key].set_row(row)
            else:
                self._views[row.key] = self._added(row)
        self.setVisible(bool(rows))

    def _added(self, row: TransferRow) -> TransferView:
        view = TransferView(row, self)
        view.stop_requested.connect(self.stop_requested)
        view.resume_requested.connect(self.resume_requested)
        view.discard_requested.connect(self.discard_requested)
        self._column.addWidget(view)
        return view
