"""The running app: what begins after the first paint, and how everything ends.

Begin: window shown and painted -> store opened -> engine thread (imports torch) -> model load.
End: input stops -> answers cancelled -> last checkpoint -> engine joined -> library's workers
joined -> store closed.
"""

import logging
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QTimer, Slot
from typing_extensions import override

from app.controllers.answers import Answers
from app.controllers.chat import ChatController
from app.controllers.failures import words_for, words_for_error
from app.controllers.kept_caches import KeptCaches
from app.controllers.meters import MetersController
from app.controllers.model import ModelController
from app.controllers.precision import PrecisionController
from app.controllers.services import Services
from app.controllers.settings import SettingsController
from app.controllers.sidebar import SidebarController
from app.conversations import Conversation
from app.late.answers import ANSWERS
from app.late.library import LateLibrary
from app.late.parts import LateParts
from app.store.store import OpenReport
from ui.i18n import tr, tr_n
from ui.main_window import MainWindow

ENGINE_TIMEOUT_S = 5.0
LIBRARY_TIMEOUT_S = 6.0
STORE_TIMEOUT_S = 10.0
PAINT_TIMEOUT_MS = 1000
logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartOptions:
    """What the command line asked for; None leaves it to the settings."""

    model: str | None = None
    scheme: str | None = None
    crash_report: Path | None = None


@dataclass(frozen=True, slots=True)
class Controllers:
    """One controller a page."""

    answers: Answers
    model: ModelController
    chat: ChatController
    sidebar: SidebarController
    settings: SettingsController
    meters: MetersController
    library: LateLibrary
    precision: PrecisionController
    kept_caches: KeptCaches


class Application(QObject):
    """The running app: the window, its controllers, the engine and the store."""

    def __init__(
        self,
        window: MainWindow,
        services: Services,
        controllers: Controllers,
        parts: LateParts,
        options: StartOptions,
    ) -> None:
        super().__init__(window)
        self.window = window
        self.services = services
        self.controllers = controllers
        self.parts = parts
        self._options = options
        self._has_begun = False
        self._is_closed = False
        # a window that is never painted (minimised, no screen) must not keep the engine waiting
        self._painted = QTimer(self)
        self._painted.setObjectName("first-paint")
        self._painted.setSingleShot(True)
        self._painted.setInterval(PAINT_TIMEOUT_MS)
        self._painted.timeout.connect(self.begin)

    def start(self) -> None:
        """Show the window; everything slow begins once it has been painted."""
        self.window.restore_layout(self.services.settings.text("window_layout"))
        self.window.installEventFilter(self)
        self._painted.start()
        self.window.show()

    @override
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint:
            self.window.removeEventFilter(self)
            self._painted.start(0)
        return False

    @Slot()
    def begin(self) -> None:
        """Begin everything slow, once: normally after the first paint."""
        if self._has_begun or self._is_closed:
            return
        self._has_begun = True
        self.services.tasks.run(
            self.services.store.open, self._on_store_open, self._on_store_failed
        )
        self.services.bridge.start()
        self.controllers.model.reload()
        self.parts.want(ANSWERS)
        self.parts.begin(self._is_idle)

    def _is_idle(self) -> bool:
        """Whether neither a load nor an answer wants the time that making more would take."""
        controllers = self.controllers
        return not (controllers.model.is_loading or controllers.answers.are_awaited)

    def _on_store_open(self, report: OpenReport) -> None:
        words = self._words_about_last_run(report)
        if words:
            self.notify(" ".join(words))
        if report.num_recovered:
            self.services.tasks.run(self.services.store.conversations, self._on_recovered)
        else:
            self.controllers.chat.begin()
        if report.failure is None:  # else no conversation is known, and their files stay
            self.controllers.kept_caches.tidy()
        self.controllers.sidebar.refresh()

    def _words_about_last_run(self, report: OpenReport) -> list[str]:
        words = []
        if report.failure is not None:
            words.append(words_for(report.failure))
        if report.damaged is not None:
            words.append(
                tr(
                    "The saved conversations were damaged and could not be read; the file is "
                    "kept as {path}.",
                    path=report.damaged,
                )
            )
        if report.num_recovered:
            words.append(
                tr_n(
                    "The app ended while an answer was written; what had come is kept.",
                    "The app ended while {n} answers were written; what had come is kept.",
                    report.num_recovered,
                )
            )
        if (crash := self._options.crash_report) is not None:
            words.append(tr("The app crashed last time; the report is {path}.", path=crash))
        return words

    def _on_recovered(self, conversations: list[Conversation]) -> None:
        latest = conversations[0].conversation_id if conversations else None
        self.controllers.chat.begin(latest)

    def _on_store_failed(self, error: Exception) -> None:
        self.notify(words_for_error(error))

    @Slot(str)
    def notify(self, text: str) -> None:
        """Say one sentence to the user."""
        logger.info("Told: %s", text)
        self.window.show_notice(text)

    @Slot()
    def raise_window(self) -> None:
        """Come to the front: a second start was tried."""
        if self.window.isMinimized():
            self.window.showNormal()
        self.window.show()
        self.window.raise_()
        self.window.activateWindow()

    def close(self) -> bool:
        """End everything in order; False when the engine or the disk did not end in time."""
        if self._is_closed:
            return True
        self._is_closed = True
        self._painted.stop()
        self.parts.stop()
        services, controllers = self.services, self.controllers
        self.window.close()
        controllers.chat.close()
        controllers.settings.close()
        controllers.answers.stop_all()
        controllers.answers.save()
        controllers.library.stop_downloads()
        controllers.precision.close()
        has_engine_ended = services.bridge.close(ENGINE_TIMEOUT_S)
        has_library_ended = controllers.library.close(LIBRARY_TIMEOUT_S)
        controllers.answers.close()
        services.tasks.run(services.store.close)
        has_store_ended = services.tasks.close(STORE_TIMEOUT_S)
        if not has_library_ended:  # what has arrived is on disk
            logger.info("A look at a disk or at the hub did not end in time")
        if not has_engine_ended:  # it may still import torch; everything it said is on disk
            logger.info("The engine did not end in time")
        if not has_store_ended:
            logger.warning("The last changes may not be on disk: the store did not end in time")
        return has_engine_ended and has_library_ended and has_store_ended
