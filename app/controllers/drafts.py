"""Keeps what stands in the composer: in memory at once, on disk when typing pauses."""

import logging
from functools import partial

from PySide6.QtCore import QObject, QTimer, Slot

from app.store.store import Store
from app.tasks import Tasks

TYPING_PAUSE_MS = 500
logger = logging.getLogger(__name__)


class Drafts(QObject):
    """Drafts by conversation; None is the chat that has not begun."""

    def __init__(self, store: Store, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._tasks = tasks
        self._unsaved: dict[int | None, str] = {}
        self._pause = QTimer(self)
        self._pause.setObjectName("draft-pause")
        self._pause.setSingleShot(True)
        self._pause.setInterval(TYPING_PAUSE_MS)
        self._pause.timeout.connect(self.save)

    def change(self, conversation_id: int | None, text: str) -> None:
        """The draft is now ``text``."""
        self._unsaved[conversation_id] = text
        self._pause.start()

    def forget(self, conversation_id: int | None) -> None:
        """The draft was sent: what is unsaved of it must not come back."""
        self._unsaved.pop(conversation_id, None)

    @Slot()
    def save(self) -> None:
        """Write all drafts that are not on disk."""
        self._pause.stop()
        for conversation_id, text in self._unsaved.items():
            self._tasks.run(
                partial(self._store.set_draft, conversation_id, text),
                on_error=partial(self._on_error, conversation_id, text),
            )
        self._unsaved.clear()

    def _on_error(self, conversation_id: int | None, text: str, error: Exception) -> None:
        logger.info("A draft is not saved yet: %s", error)
        self._unsaved.setdefault(conversation_id, text)
