"""Two buttons that keep an answer's report in a file, and what came of it."""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFileDialog, QLabel, QPushButton, QVBoxLayout, QWidget

from engine.api import TraceFormat
from ui.i18n import tr
from ui.theme import ThemeSource, set_look
from ui.widgets.flow import FlowLayout


class ExportRow(QWidget):
    """``wanted``: the chosen path and format. Writes nothing itself."""

    wanted = Signal(str, TraceFormat)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chrome = QPushButton(tr("Save as Perfetto trace…"), self)
        self._chrome.setToolTip(tr("A file for Perfetto and for Chrome's tracing page."))
        self._json = QPushButton(tr("Save as JSON…"), self)
        self._outcome = QLabel(self)
        self._outcome.setWordWrap(True)
        self._outcome.setTextFormat(Qt.TextFormat.PlainText)
        self._outcome.hide()
        self._chrome.clicked.connect(self._ask_chrome)
        self._json.clicked.connect(self._ask_json)
        buttons = FlowLayout(themes.px(12), themes.px(2))
        for button in (self._chrome, self._json):
            set_look(button, "link-small")
            buttons.addWidget(button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(buttons)
        column.addWidget(self._outcome)

    def set_possible(self, *, is_possible: bool) -> None:
        """Whether there is a report to keep."""
        for button in (self._chrome, self._json):
            button.setEnabled(is_possible)

    @property
    def outcome(self) -> str:
        """What was said last."""
        return self._outcome.text()

    def show_outcome(self, words: str, *, is_problem: bool) -> None:
        """Say what came of it, in a sentence; empty words take it away."""
        set_look(self._outcome, "danger-small" if is_problem else "small")
        self._outcome.setText(words)
        self._outcome.setVisible(bool(words))

    def _ask_chrome(self) -> None:
        self._ask("trace.json", tr("Trace (*.json)"), TraceFormat.CHROME)

    def _ask_json(self) -> None:
        self._ask("answer.json", tr("JSON (*.json)"), TraceFormat.JSON)

    def _ask(self, name: str, filters: str, form: TraceFormat) -> None:
        path, _filter = QFileDialog.getSaveFileName(self, tr("Save the trace"), name, filters)
        if path:
            self.wanted.emit(path, form)
