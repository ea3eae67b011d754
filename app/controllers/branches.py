"""Versions: asking again, editing, going on, and turning between what there is.

Everything grows a branch in the open conversation; nothing is ever removed.
"""

from dataclasses import replace
from functools import partial
from time import perf_counter_ns

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.chat import ChatController
from app.controllers.failures import words_for_error
from app.controllers.model import ModelController
from app.controllers.opened import OpenChat
from app.controllers.services import Services
from app.conversations import ChatMessage
from ui.chat.page import ChatPage
from ui.chat.rows import MessageStatus


class BranchController(QObject):
    """The actions under a message. While an answer is computed none of them is taken."""

    notice = Signal(str)

    def __init__(
        self, page: ChatPage, chat: ChatController, model: ModelController, services: Services
    ) -> None:
        super().__init__(page)
        self._page = page
        self._chat = chat
        self._model = model
        self._store, self._tasks = services.store, services.tasks
        page.regenerate_requested.connect(self._on_regenerate)
        page.edit_requested.connect(self._on_edit)
        page.continue_requested.connect(self._on_continue)
        page.version_requested.connect(self._on_version)

    @Slot(int)
    def _on_regenerate(self, message_id: int) -> None:
        chat = self._chat.open_chat
        answer = chat.tree[message_id]
        if self._chat.is_busy or answer.parent_id is None:
            return
        self._chat.save_first(
            partial(
                self._store.add_answer, answer.conversation_id, answer.parent_id, self._model.name
            ),
            partial(self._on_answer_saved, perf_counter_ns()),
        )

    def _on_answer_saved(self, sent_ns: int, chat: OpenChat, answer: ChatMessage) -> None:
        self._on_edit_saved(chat, answer)
        self._chat.compute(chat, answer, sent_ns)

    @Slot(int, str)
    def _on_edit(self, message_id: int, text: str) -> None:
        message = self._chat.open_chat.tree[message_id]
        if message.role == "user":
            self._chat.ask(message.parent_id, text)
        elif not self._chat.is_busy:
            edited = replace(
                message,
                content=text,
                guessed=(),
                status=MessageStatus.COMPLETE,
                reason=None,
                timeline=None,
                failure=None,
            )
            self._chat.save_first(partial(self._store.add_message, edited), self._on_edit_saved)

    def branch(self, message_id: int, text: str, *, ends: bool) -> None:
        """Grow another version of an answer that begins with ``text``, and go on from there.

        ``ends``: that is all of it. Nothing happens while the conversation is busy.
        """
        message = self._chat.open_chat.tree[message_id]
        if self._chat.is_busy or message.role != "assistant":
            return
        begun = replace(
            message,
            content=text,
            guessed=(),
            status=MessageStatus.COMPLETE if ends else MessageStatus.STREAMING,
            reason=None,
            timeline=None,
            model=message.model if ends else self._model.name,
            failure=None,
        )
        on_saved = (
            self._on_edit_saved if ends else partial(self._on_answer_saved, perf_counter_ns())
        )
        self._chat.save_first(partial(self._store.add_message, begun), on_saved)

    def _on_edit_saved(self, chat: OpenChat, message: ChatMessage) -> None:
        chat.extend(message)
        if chat is self._chat.open_chat:
            self._chat.show_path()

    @Slot(int)
    def _on_continue(self, message_id: int) -> None:
        chat = self._chat.open_chat
        if self._chat.is_busy or message_id != chat.leaf:
            return
        answer = replace(
            chat.tree[message_id],
            status=MessageStatus.STREAMING,
            reason=None,
            timeline=None,
            failure=None,
        )
        self._chat.save_first(
            partial(self._store.save_messages, [answer]),
            partial(self._on_continue_saved, answer, perf_counter_ns()),
        )

    def _on_continue_saved(
        self, answer: ChatMessage, sent_ns: int, chat: OpenChat, _nothing: None
    ) -> None:
        chat.update(answer)
        if chat is self._chat.open_chat:
            self._page.replace_message(chat.row(answer.message_id))
        self._chat.compute(chat, answer, sent_ns)

    @Slot(int, int)
    def _on_version(self, message_id: int, version: int) -> None:
        chat = self._chat.open_chat
        if not chat.show_version(message_id, version):
            return
        self._chat.show_path()
        assert chat.conversation_id is not None
        assert chat.leaf is not None
        self._tasks.run(
            partial(self._store.set_active_leaf, chat.conversation_id, chat.leaf),
            on_error=self._on_error,
        )

    def _on_error(self, error: Exception) -> None:
        self.notice.emit(words_for_error(error))
