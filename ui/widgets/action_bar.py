"""One quiet sentence with at most one action and a close button: notices, undo, reload.

Owns nothing but its looks; when it is shown and for how long is the owner's affair.
"""

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QToolButton, QWidget

from ui.i18n import tr
from ui.icons import Icon, make_icon
from ui.theme import ThemeSource, set_look

ICON = 14


class ActionBar(QFrame):
    """Hidden until ``show_text``. ``triggered``: the action was pressed; ``closed``: dismissed."""

    triggered = Signal()
    closed = Signal()

    def __init__(
        self, themes: ThemeSource, parent: QWidget | None = None, *, closable: bool = True
    ) -> None:
        super().__init__(parent)
        self._themes = themes
        set_look(self, "card")
        self._text = QLabel(self)
        self._text.setWordWrap(True)
        self._text.setTextFormat(Qt.TextFormat.PlainText)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._action = QPushButton(self)
        set_look(self._action, "link")
        self._action.clicked.connect(self.triggered)
        self._close = QToolButton(self)
        self._show_icon()
        themes.changed.connect(self._show_icon)
        self._close.setAccessibleName(tr("Close"))
        self._close.setToolTip(tr("Close"))
        self._close.setVisible(closable)
        self._close.clicked.connect(self._dismiss)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 8)
        layout.setSpacing(8)
        layout.addWidget(self._text, 1)
        layout.addWidget(self._action)
        layout.addWidget(self._close)
        self.hide()

    @property
    def text(self) -> str:
        """The sentence that is, or was last, shown."""
        return self._text.text()

    @property
    def action_button(self) -> QPushButton:
        """The action, for tab order and tests."""
        return self._action

    def show_text(self, text: str, action_label: str | None = None) -> None:
        """Show a sentence, and an action when it has a label."""
        self._text.setText(text)
        self.setAccessibleName(text)
        self._action.setText(action_label or "")
        self._action.setVisible(action_label is not None)
        self.show()

    def _dismiss(self) -> None:
        self.hide()
        self.closed.emit()

    def _show_icon(self) -> None:
        size = self._themes.px(ICON)
        self._close.setIcon(make_icon(Icon.CLOSE, self._themes.color("muted"), size))
        self._close.setIconSize(QSize(size, size))
