"""How far the look at an answer's tokens is; it can be stopped, and asked for again."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QProgressBar, QPushButton, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.theme import set_look


class ComputingBar(QWidget):
    """Words, a bar, and one button: it stops, or begins anew."""

    stop_wanted = Signal()
    start_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._is_running = False
        self._words = QLabel(self)
        self._words.setWordWrap(True)
        self._words.setTextFormat(Qt.TextFormat.PlainText)
        set_look(self._words, "small")
        self._bar = QProgressBar(self)
        self._bar.setTextVisible(False)
        self.button = QPushButton(self)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(8)
        column.addWidget(self._words)
        column.addWidget(self._bar)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        column.addStretch(1)
        self.button.clicked.connect(self._on_clicked)

    @property
    def text(self) -> str:
        """What it says."""
        return self._words.text()

    def show_estimate(self, num_tokens: int, *, waits: bool) -> None:
        """About so many tokens are to go through the model; ``waits``: an answer goes first."""
        count = f"~{num_tokens:,}"
        if waits:
            words = tr("{count} tokens are computed after the answer being written.", count=count)
        else:
            words = tr("Computing {count} tokens…", count=count)
        self._show_running(words, num_tokens, 0)

    def show_progress(self, num_tokens: int, num_done: int) -> None:
        """``num_done`` of ``num_tokens`` have been through the model."""
        words = tr("Computing {count} tokens…", count=f"{num_tokens:,}")
        self._show_running(words, num_tokens, num_done)

    def show_halted(self, words: str) -> None:
        """It is over without tokens."""
        self._is_running = False
        self._words.setText(words)
        self._bar.hide()
        self.button.setText(tr("Compute the tokens"))

    def _show_running(self, words: str, num_tokens: int, num_done: int) -> None:
        self._is_running = True
        self._words.setText(words)
        self._bar.setRange(0, max(1, num_tokens))
        self._bar.setValue(num_done)
        self._bar.setAccessibleName(words)
        self._bar.show()
        self.button.setText(tr("Cancel"))

    def _on_clicked(self) -> None:
        if self._is_running:
            self.stop_wanted.emit()
        else:
            self.start_wanted.emit()
