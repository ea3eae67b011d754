"""Takes a JSON Schema once it can be used, and tells under its setting why one cannot.

What is typed stays a draft in the editor until the engine has checked it, in a worker thread; the
last text counts. Until then, and where it is wrong, the schema before stays in force.
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
    """Watches the setting's drafts. ``check`` raises EngineError for what is no JSON Schema."""

    def __init__(
        self, panel: SettingsPanel, settings: Settings, tasks: Tasks, check: SchemaCheck
    ) -> None:
        super().__init__(panel)
        self._panel = panel
        self._settings = settings
        self._tasks = tasks
        self._check = check
        self._asked = ""
        self._in_force = ""
        panel.drafted.connect(self._on_drafted)
        self.refresh()

    @Slot(str, object)
    def _on_drafted(self, key: str, value: SettingValue) -> None:
        if key == KEY:
            self._look_at("" if value is None else str(value))

    @Slot()
    def refresh(self) -> None:
        """Check the setting's text where it was changed elsewhere: a draft is given up for it."""
        text = self._settings.text(KEY)
        if text != self._in_force:
            self._in_force = text
            self._look_at(text)

    def _look_at(self, text: str) -> None:
        if text == self._asked:
            return
        self._asked = text
        if not text.strip():
            self._on_right(text, None)
            return
        self._tasks.run(
            partial(self._check, text),
            partial(self._on_right, text),
            partial(self._on_wrong, text),
        )

    def _on_right(self, text: str, _nothing: None) -> None:
        if text != self._asked:
            return
        self._panel.set_problem(KEY, "")
        if text != self._in_force:
            self._in_force = text
            self._panel.accept(KEY, text)

    def _on_wrong(self, text: str, error: Exception) -> None:
        if text != self._asked:
            return
        words = words_for_error(error)
        if isinstance(error, InvalidRequestError):
            words = tr("This schema cannot be used: {reason}.", reason=error.details["reason"])
        if text != self._in_force:
            kept = self._in_force.strip()
            words += tr(" ") + (
                tr("The one before stays in force.") if kept else tr("Answers stay free text.")
            )
        self._panel.set_problem(KEY, words)
