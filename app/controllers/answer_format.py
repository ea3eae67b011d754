"""Tells under the JSON Schema setting why a schema cannot be used, as it is edited.

The engine checks it, in a worker thread; the last text counts.
"""

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Slot

from app.controllers.failures import words_for_error
from app.settings.values import Settings
from app.tasks import Tasks
from engine.errors import InvalidRequestError
from ui.i18n import tr
from ui.settings.fields import SettingValue
from ui.settings.panel import SettingsPanel

KEY = "json_schema"
SchemaCheck = Callable[[str], None]


class AnswerFormat(QObject):
    """Watches the setting. ``check`` raises EngineError for what is no JSON Schema."""

    def __init__(
        self, panel: SettingsPanel, settings: Settings, tasks: Tasks, check: SchemaCheck
    ) -> None:
        super().__init__(panel)
        self._panel = panel
        self._settings = settings
        self._tasks = tasks
        self._check = check
        self._asked = ""
        panel.changed.connect(self._on_changed)
        self.refresh()

    @Slot(str, object)
    def _on_changed(self, key: str, _value: SettingValue) -> None:
        if key == KEY:
            self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Check the setting's present text, unless that was done."""
        text = self._settings.text(KEY)
        if text == self._asked:
            return
        self._asked = text
        if not text.strip():
            self._panel.set_problem(KEY, "")
            return
        self._tasks.run(
            partial(self._check, text),
            partial(self._on_right, text),
            partial(self._on_wrong, text),
        )

    def _on_right(self, text: str, _nothing: None) -> None:
        if text == self._asked:
            self._panel.set_problem(KEY, "")

    def _on_wrong(self, text: str, error: Exception) -> None:
        if text != self._asked:
            return
        words = words_for_error(error)
        if isinstance(error, InvalidRequestError):
            words = tr("This schema cannot be used: {reason}.", reason=error.details["reason"])
        self._panel.set_problem(KEY, words)
