"""Says that a setting waits for the model to be loaded again, and offers to do it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget

from ui.i18n import tr
from ui.theme import set_look


class ReloadBar(QWidget):
    """Hidden while nothing waits."""

    reload_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        words = QLabel(tr("This takes effect when the model is loaded again."), self)
        words.setTextFormat(Qt.TextFormat.PlainText)
        words.setWordWrap(True)
        set_look(words, "small")
        self.button = QPushButton(tr("Reload the model"), self)
        self.button.clicked.connect(self.reload_requested)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(6)
        column.addWidget(words)
        column.addWidget(self.button, 0, Qt.AlignmentFlag.AlignLeft)
        self.setVisible(False)

    def set_needed(self, *, needed: bool) -> None:
        """Whether something waits."""
        self.setVisible(needed)
