"""What stands in place of the list while there is no model: a sentence, and what to do about it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QVBoxLayout, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.icons import Icon, icon_pixmap
from ui.theme import ThemeSource, set_look

_WIDTH = 400
_ICON = 32


class NoModels(QWidget):
    """Centred; ``download_requested`` follows its one button."""

    download_requested = Signal()

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._icon = QLabel(self)
        self._title = self._label("title")
        self._words = self._label("muted")
        self._trouble = self._label("danger-small")
        self._button = QPushButton(tr("Download a model"), self)
        set_look(self._button, "primary")
        self._button.clicked.connect(self.download_requested)
        self._column = QWidget(self)
        box = QVBoxLayout(self._column)
        box.setContentsMargins(0, 0, 0, 0)
        box.setSpacing(10)
        self._icon.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        for widget in (self._icon, self._title, self._words, self._trouble):
            box.addWidget(widget)
        box.addSpacing(6)
        box.addWidget(self._button, 0, Qt.AlignmentFlag.AlignHCenter)
        outer = QVBoxLayout(self)
        outer.addStretch(2)
        outer.addWidget(self._column, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)
        themes.changed.connect(self._dress)
        self._dress()
        self.show_state(is_scanning=False)
        self.set_trouble("")

    def show_state(self, *, is_scanning: bool) -> None:
        """Say that folders are being looked through, or that there was nothing in them."""
        if is_scanning:
            self._title.setText(tr("Looking for models…"))
            self._words.setText(tr("Your folders and those of other programs are looked through."))
        else:
            self._title.setText(tr("No models yet"))
            self._words.setText(
                tr(
                    "Download one, or add a folder with .gguf files or safetensors models under "
                    "“Folders”."
                )
            )
        self._button.setVisible(not is_scanning)
        self._fit()

    def set_trouble(self, text: str) -> None:
        """Folders that cannot be read, a sentence each; an empty string for none."""
        self._trouble.setText(text)
        self._trouble.setVisible(bool(text))
        self._fit()

    def _label(self, look: str) -> QLabel:
        label = QLabel(self)
        set_look(label, look)
        label.setWordWrap(True)
        label.setTextFormat(Qt.TextFormat.PlainText)
        label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        return label

    def _dress(self) -> None:
        size = self._themes.px(_ICON)
        color = self._themes.color("muted")
        self._icon.setPixmap(icon_pixmap(Icon.FOLDER, color, size, self.devicePixelRatioF()))
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Keep the column inside the page."""
        room = self.width() - 2 * self._themes.px(24)
        width = max(120, min(self._themes.px(_WIDTH), room))
        self._column.setFixedWidth(width)
        # a centred layout asks no label how high its lines are at this width
        for label in (self._title, self._words, self._trouble):
            label.setMinimumHeight(0)  # which the answer would not go below
            label.setFixedHeight(max(0, label.heightForWidth(width)))
