"""What a new conversation shows: the model, three ways to begin, and where all this runs."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QVBoxLayout, QWidget
from typing_extensions import override

from ui.i18n import tr
from ui.theme import ThemeSource, set_look

_WIDTH = 480


class EmptyState(QWidget):
    """``example_chosen`` carries the text of an example.

    While no model is loaded, ``model_wanted`` asks for a file and ``library_wanted`` for the models
    that are here or could be downloaded.
    """

    example_chosen = Signal(str)
    model_wanted = Signal()
    library_wanted = Signal()

    def __init__(self, look: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._look = look
        self._title = QLabel(self)
        self._title.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._title.setWordWrap(True)
        self._where = QLabel(tr("Runs on this computer. Nothing you write leaves it."), self)
        self._where.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._where.setWordWrap(True)
        set_look(self._where, "muted")
        self._column = QWidget(self)
        box = QVBoxLayout(self._column)
        box.setContentsMargins(0, 0, 0, 0)
        box.addWidget(self._title)
        box.addWidget(self._where)
        box.addSpacing(look.px(16))
        self._examples = [self._example(text) for text in self._texts()]
        for button in self._examples:
            box.addWidget(button)
        self._pick = QPushButton(tr("Choose a model file…"), self._column)
        set_look(self._pick, "primary")
        self._pick.clicked.connect(self.model_wanted)
        box.addWidget(self._pick, 0, Qt.AlignmentFlag.AlignHCenter)
        self._find = QPushButton(tr("Find or download a model"), self._column)
        set_look(self._find, "quiet")
        self._find.clicked.connect(self.library_wanted)
        box.addWidget(self._find, 0, Qt.AlignmentFlag.AlignHCenter)
        self._box = box
        outer = QVBoxLayout(self)
        outer.addStretch(2)
        outer.addWidget(self._column, 0, Qt.AlignmentFlag.AlignHCenter)
        outer.addStretch(3)
        look.changed.connect(self._dress)
        self._dress()
        self.set_model("")

    @staticmethod
    def _texts() -> tuple[str, ...]:
        return (
            tr("Explain in three sentences why the sky is blue."),
            tr("Write a Python function that finds the longest word."),
            tr("Give me five questions to ask before I buy a used bicycle."),
        )

    def _example(self, text: str) -> QPushButton:
        button = QPushButton(text, self._column)
        button.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        button.setAccessibleName(text)
        set_look(button, "row")
        button.clicked.connect(self._choose)
        return button

    def _choose(self) -> None:
        button = self.sender()
        if isinstance(button, QPushButton):
            self.example_chosen.emit(button.accessibleName())

    def _dress(self) -> None:
        self._box.setSpacing(self._look.px(8))
        font = self._look.font(20, 600)
        self._title.setFont(font)
        self._title.setStyleSheet(f"font-size: {self._look.px(20)}px; font-weight: 600;")
        self._fit()

    @override
    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """Keep the column inside the page, and each example on one line."""
        look = self._look
        width = max(120, min(look.px(_WIDTH), self.width() - 2 * look.px(24)))
        self._column.setFixedWidth(width)
        metrics = QFontMetrics(look.font())
        for button in self._examples:
            text = button.accessibleName()
            room = width - look.px(28)
            button.setText(metrics.elidedText(text, Qt.TextElideMode.ElideRight, room))
            button.setToolTip(text if button.text() != text else "")

    def set_model(self, name: str) -> None:
        """Name the model that will answer; empty: none is loaded."""
        self._title.setText(name or tr("No model loaded"))
        for button in (self._pick, self._find):
            button.setVisible(not name)
        for button in self._examples:
            button.setVisible(bool(name))
