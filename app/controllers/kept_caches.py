"""Keeps the cache of each conversation on the disk, where the settings want that.

A file a conversation, written by the engine after each answer, read when the conversation is
opened, deleted with it. What belongs to nobody any more goes at the start.
"""

import logging
from collections.abc import Collection
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Slot

from app.controllers.answers import Answers
from app.controllers.model import ModelController
from app.controllers.services import Services
from app.controllers.sidebar import SidebarController
from app.conversations import ChatMessage, Conversation
from engine.api import CacheRestored, CacheSaved

SUFFIX = ".kvcache"
logger = logging.getLogger(__name__)


class KeptCaches(QObject):
    """The files in one folder, by conversation id."""

    def __init__(
        self,
        folder: Path,
        sidebar: SidebarController,
        answers: Answers,
        model: ModelController,
        services: Services,
    ) -> None:
        super().__init__(sidebar)
        self._folder = folder
        self._chat = sidebar.chat
        self._model = model
        self._bridge = services.bridge
        self._tasks = services.tasks
        self._store = services.store
        self._settings = services.settings
        self._has_model = False
        self._deleted: set[int] = set()
        answers.ended.connect(self._on_ended)
        sidebar.deleted.connect(self._on_deleted)
        self._chat.current_changed.connect(self._on_current_changed)
        model.changed.connect(self._on_model_changed)
        self._bridge.cache_restored.connect(self._on_restored)
        self._bridge.cache_saved.connect(self._on_saved)

    def tidy(self) -> None:
        """Delete what belongs to no conversation; everything where nothing is to be kept."""
        self._tasks.run(self._store.conversations, self._on_listed, self._on_error)

    @Slot(int)
    def _on_deleted(self, conversation_id: int) -> None:
        self._deleted.add(conversation_id)
        self._delete(conversation_id)

    def _delete(self, conversation_id: int) -> None:
        self._tasks.run(
            partial(self._path(conversation_id).unlink, missing_ok=True), on_error=self._on_error
        )

    def _path(self, conversation_id: int) -> Path:
        return self._folder / f"{conversation_id}{SUFFIX}"

    @property
    def _is_on(self) -> bool:
        return self._settings.flag("keep_cache")

    def _on_listed(self, conversations: list[Conversation]) -> None:
        kept = {self._path(c.conversation_id) for c in conversations} if self._is_on else set()
        self._tasks.run(partial(_delete_others, self._folder, kept), on_error=self._on_error)

    @Slot(ChatMessage)
    def _on_ended(self, message: ChatMessage) -> None:
        is_wanted = self._is_on and message.conversation_id not in self._deleted
        if is_wanted and message.timeline is not None:
            path = self._path(message.conversation_id)
            self._bridge.save_cache(str(message.conversation_id), str(path))

    @Slot(CacheSaved)
    def _on_saved(self, event: CacheSaved) -> None:
        if int(event.conversation_id) in self._deleted:  # it was being written at the time
            self._delete(int(event.conversation_id))

    @Slot(object)
    def _on_current_changed(self, conversation_id: int | None) -> None:
        if conversation_id is not None:  # opened, so it is not deleted (any more)
            self._deleted.discard(conversation_id)
        if self._is_on and self._has_model and conversation_id is not None:
            path = self._path(conversation_id)
            self._bridge.restore_cache(str(conversation_id), str(path))

    @Slot()
    def _on_model_changed(self) -> None:
        had_model, self._has_model = self._has_model, self._is_model_ready()
        if self._has_model and not had_model:
            self._on_current_changed(self._chat.open_chat.conversation_id)

    def _is_model_ready(self) -> bool:
        return self._model.info is not None and not self._model.is_loading

    @Slot(CacheRestored)
    def _on_restored(self, event: CacheRestored) -> None:
        if event.num_tokens:
            logger.info("%d tokens of a conversation's cache are back", event.num_tokens)

    def _on_error(self, error: Exception) -> None:
        logger.warning("A kept cache could not be deleted: %s", error)


def _delete_others(folder: Path, kept: Collection[Path]) -> None:
    for path in folder.glob(f"*{SUFFIX}"):
        if path not in kept:
            path.unlink(missing_ok=True)
