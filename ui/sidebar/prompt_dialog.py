"""The system prompt of one chat, written in a small window that holds nothing up."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLabel,
    QPlainTextEdit,
    QVBoxLayout,
    QWidget,
)

from ui.i18n import tr
from ui.theme import set_look

_SIZE = (480, 320)


class PromptDialog(QDialog):
    """``saved``: what the model shall be told before this chat; empty: what the settings say."""

    saved = Signal(str)

    def __init__(self, title: str, prompt: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chatPrompt")
        self.setWindowTitle(tr("System prompt of “{title}”", title=title))
        self.setModal(False)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.text = QPlainTextEdit(self)
        set_look(self.text, "field")
        self.text.setAccessibleName(tr("System prompt"))
        self.text.setTabChangesFocus(True)
        self.text.setPlainText(prompt)
        explained = QLabel(
            tr(
                "What the model is told before this chat, from the next answer on. Empty: the "
                "system prompt of the settings."
            ),
            self,
        )
        explained.setWordWrap(True)
        set_look(explained, "small")
        buttons = QDialogButtonBox(self)
        buttons.addButton(tr("Save"), QDialogButtonBox.ButtonRole.AcceptRole)
        buttons.addButton(tr("Cancel"), QDialogButtonBox.ButtonRole.RejectRole)
        buttons.accepted.connect(self._save)
        buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.setContentsMargins(20, 16, 20, 16)
        column.setSpacing(10)
        for part in (explained, self.text, buttons):
            column.addWidget(part)
        self.resize(*_SIZE)

    def _save(self) -> None:
        self.saved.emit(self.text.toPlainText().strip())
        self.accept()
