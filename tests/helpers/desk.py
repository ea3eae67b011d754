"""The whole window over a scripted engine, as a test's desk.

``Desk`` is the app as ``app.main`` builds it, on a home folder of its own. With ``is_immediate``
storage tasks run at once in the caller, so that a controller can be tested step by step.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.application import Application, StartOptions
from app.bridge import EngineFactory
from app.composition import build
from app.conversations import ChatMessage
from app.paths import app_paths
from app.settings.values import Settings
from app.store.store import Store
from app.tasks import SerialTasks
from tests.helpers.fake_engine import FakeEngine, FakeEngines, Script
from ui.chat.page import ChatPage
from ui.chat.rows import MessageRow
from ui.sidebar.model import ConversationModel
from ui.sidebar.rows import ConversationRow

T = TypeVar("T")


class ImmediateTasks:
    """Runs each task at once, in the caller's thread."""

    def __init__(self, name: str) -> None:
        self.name = name

    def run(
        self,
        work: Callable[[], T],
        on_done: Callable[[T], None] | None = None,
        on_error: Callable[[Exception], None] | None = None,
    ) -> None:
        try:
            value = work()
        except Exception as error:
            if on_error is None:
                raise
            on_error(error)
        else:
            if on_done is not None:
                on_done(value)

    def close(self, _timeout_s: float) -> bool:
        return True


class Desk:
    """The app in a window, and hands to use it with."""

    def __init__(
        self,
        qtbot: QtBot,
        home: Path,
        script: Script | None = None,
        options: StartOptions | None = None,
        *,
        is_immediate: bool = True,
        has_model: bool = True,
        make_engine: EngineFactory | None = None,
        is_whole: bool = True,
    ) -> None:
        self.qtbot = qtbot
        self._is_closed = False
        self.paths = app_paths(home)
        self.paths.create()
        if has_model:
            self.paths.starter_model.write_bytes(b"GGUF")
        self.engines = FakeEngines(script)
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        self.application: Application = build(
            app,
            self.paths,
            Settings.load(self.paths.settings, self.paths.secrets),
            options or StartOptions(),
            make_engine=make_engine or self.engines,
            make_tasks=ImmediateTasks if is_immediate else SerialTasks,
        )
        if is_whole:  # as a window is that has been open for a while
            self.application.parts.finish()
        self.window = self.application.window
        self.current: int | str | None = "not yet"
        self.chat.current_changed.connect(self._note_current)
        self.notices: list[str] = []
        for source in ("model", "chat", "sidebar", "settings"):
            getattr(self.application.controllers, source).notice.connect(self.notices.append)

    # ------------------------------------------------------------------ parts

    @property
    def engine(self) -> FakeEngine:
        return self.engines.engine

    @property
    def page(self) -> ChatPage:
        return self.window.findChild(ChatPage)

    @property
    def store(self) -> Store:
        return self.application.services.store

    @property
    def chat(self):
        return self.application.controllers.chat

    @property
    def rows(self) -> list[MessageRow]:
        """What the page shows, with the text that has been streamed into it."""
        return [
            replace(
                entry.row,
                text=entry.text + "".join(entry.unshown),
                reasoning=entry.reasoning,
            )
            if entry.is_streaming
            else entry.row
            for entry in self.page.messages.entries
        ]

    @property
    def texts(self) -> list[str]:
        return [row.text for row in self.rows]

    @property
    def is_open(self) -> bool:
        """Whether the store is open and a conversation (or a new one) is shown."""
        return self.current != "not yet"

    @property
    def listed(self) -> list[str]:
        """Titles in the sidebar, top to bottom."""
        return [row.title for row in self._listed_rows()]

    @property
    def listed_ids(self) -> list[int]:
        """Ids in the sidebar, top to bottom."""
        return [row.conversation_id for row in self._listed_rows()]

    @property
    def shown_notice(self) -> str:
        """What the bar under the top bar says."""
        return self.window._notice.text

    def _listed_rows(self) -> list[ConversationRow]:
        model = self.window.findChild(ConversationModel)
        rows = (model.conversation_at(model.index(row)) for row in range(model.rowCount()))
        return [row for row in rows if row is not None]

    def stored(self) -> list[ChatMessage]:
        """The open conversation's messages as they are on disk; needs ``is_immediate``."""
        return self.store.conversation(self.chat.open_chat.conversation_id)[1]

    # ------------------------------------------------------------------ acts

    def begin(self) -> "Desk":
        """Start without waiting for the first paint, and load the model."""
        self.application.begin()
        self.play()
        return self

    def play(self) -> None:
        """Let the engine say all it has to say."""
        self.engine.run()
        self.application.services.bridge.drain()

    def step(self, times: int = 1) -> None:
        """Let the engine say one thing, several times."""
        for _ in range(times):
            self.engine.step()
        self.application.services.bridge.drain()

    def send(self, text: str) -> None:
        """Write and press Enter."""
        self.page.composer.set_text(text)
        self.page.composer.input.submitted.emit()

    def wait(self, condition: Callable[[], bool], timeout_ms: int = 20_000) -> None:
        """Let the event loop run until something is so."""
        self.qtbot.waitUntil(condition, timeout=timeout_ms)

    def close(self) -> None:
        """End the app and drop the window; closing again does nothing."""
        if not self._is_closed:
            self._is_closed = True
            self.application.close()
            self.window.deleteLater()

    def _note_current(self, conversation_id: int | None) -> None:
        self.current = conversation_id
