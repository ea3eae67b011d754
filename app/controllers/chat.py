"""The chat page and the conversation it shows.

A question is saved first and computed then. One may leave a conversation while its answer streams
and come back to it. Other versions of a message are the affair of ``branches``.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from time import perf_counter_ns
from typing import TypeVar

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.answers import Answers
from app.controllers.drafts import Drafts
from app.controllers.failures import words_for, words_for_error
from app.controllers.model import ModelController
from app.controllers.opened import OpenChat
from app.controllers.rows import num_conversation_tokens, prompt_of, with_question
from app.controllers.services import Services
from app.conversations import ChatMessage, Conversation
from app.store.store import Turn
from engine.api import (
    Failure,
    LeftOut,
    Message,
    Overflow,
    PrefillProgress,
    TokensCounted,
    TokensProduced,
)
from ui.chat.page import ChatPage
from ui.chat.rows import Reasoning
from ui.chat.token_count import ContextUse, estimate_tokens
from ui.i18n import tr

T = TypeVar("T")


class ChatController(QObject):
    """Everything a person does with the open conversation."""

    current_changed = Signal(object)  # conversation id, or None for a chat not begun
    conversations_changed = Signal()
    path_changed = Signal()
    answer_begun = Signal()
    first_painted = Signal(object)  # nanoseconds since Send
    notice = Signal(str)

    def __init__(
        self, page: ChatPage, answers: Answers, model: ModelController, services: Services
    ) -> None:
        super().__init__(page)
        self._page = page
        self._answers = answers
        self._model = model
        self._services = services
        self._drafts = Drafts(services.store, services.tasks, self)
        self.open_chat = OpenChat()
        self._opening = 0  # counts changes of conversation: what was begun before is late
        self._is_saving = False
        self._must_stop = False  # Stop was pressed before the question was saved
        self._unpainted: dict[int, int] = {}  # message id -> when Send was pressed
        self._count_ticket = 0
        self._counted = TokensCounted(0, None)
        self._connect()

    def _connect(self) -> None:
        page, answers = self._page, self._answers
        page.send_requested.connect(self._on_send)
        page.stop_requested.connect(self.stop)
        page.draft_changed.connect(self._on_draft)
        page.count_requested.connect(self._on_count)
        page.first_painted.connect(self._on_first_painted)
        answers.prefilled.connect(self._on_prefilled)
        answers.text_arrived.connect(self._on_text)
        answers.reasoned.connect(self._on_reasoned)
        answers.shortened.connect(self._on_shortened)
        answers.ended.connect(self._on_ended)
        answers.measured.connect(self._on_measured)
        self._services.bridge.tokens_counted.connect(self._on_counted)
        self._model.changed.connect(self._on_model_changed)

    # ------------------------------------------------------------------ which conversation

    def open(self, conversation_id: int | None) -> None:
        """Show a conversation, or an empty page for a new one."""
        self._page.composer.flush_draft()
        self._drafts.save()
        self._opening += 1
        self._is_saving = self._must_stop = False
        store, tasks = self._services.store, self._services.tasks
        late = partial(self._on_load_failed, self._opening)
        if conversation_id is None:
            tasks.run(store.unstarted, partial(self._on_unstarted, self._opening), late)
        else:
            load = partial(store.conversation, conversation_id)
            tasks.run(load, partial(self._on_loaded, self._opening), late)

    def begin(self, conversation_id: int | None = None) -> None:
        """Show the first conversation of this run, unless a person was quicker."""
        if self.is_untouched:
            self.open(conversation_id)

    @property
    def is_untouched(self) -> bool:
        """Whether nothing was opened, written or sent yet."""
        chat = self.open_chat
        is_idle = self._opening == 0 and not self._is_saving and chat.conversation_id is None
        return is_idle and not self._page.composer.text()

    def _on_unstarted(self, opening: int, conversation: Conversation | None) -> None:
        if opening != self._opening or self._is_saving:
            return
        draft = "" if conversation is None else conversation.draft
        if self.open_chat.conversation_id is None:  # what was typed meanwhile is newer
            draft = self._page.composer.text() or draft
        self._show(OpenChat(), draft)

    def _on_loaded(self, opening: int, loaded: tuple[Conversation, list[ChatMessage]]) -> None:
        if opening != self._opening:
            return
        conversation, messages = loaded
        newest = map(self._answers.overlay, messages)
        self._show(OpenChat.of(conversation, newest), conversation.draft)

    def _on_load_failed(self, opening: int, error: Exception) -> None:
        if opening == self._opening:
            self.notice.emit(words_for_error(error))

    def _show(self, chat: OpenChat, draft: str) -> None:
        self.open_chat = chat
        self._unpainted.clear()
        self._answers.show(chat.conversation_id)
        self.show_path()
        self._page.set_draft(draft)
        self._page.focus_composer()
        self.current_changed.emit(chat.conversation_id)

    def show_path(self) -> None:
        """Show the messages of the open conversation from anew."""
        conversation_id = self.open_chat.conversation_id
        live = None if conversation_id is None else self._answers.live_in(conversation_id)
        if live is not None:  # it may have grown while another branch was shown
            self.open_chat.update(live.present)
        self._page.show_conversation(self.open_chat.rows())
        self._page.set_generating(self.is_busy)
        if live is not None and live.left_out is not None:
            self._page.set_left_out(live.message.message_id, live.left_out)
        self._tell_path()

    def _tell_path(self) -> None:
        self._counted = replace(self._counted, prompt=None)  # it was another path's
        self._show_token_count()
        if text := self._page.composer.text():
            self._on_count(text)
        self.path_changed.emit()

    @property
    def is_generating(self) -> bool:
        """Whether an answer of the open conversation is in the making."""
        return self.open_chat.conversation_id in self._answers.generating()

    # ------------------------------------------------------------------ asking

    @property
    def is_busy(self) -> bool:
        """Whether the open conversation waits for an answer, or for the disk before one."""
        return self._is_saving or self.is_generating

    @Slot(str)
    def _on_send(self, text: str) -> None:
        self.ask(self.open_chat.leaf, text)

    def ask(self, parent_id: int | None, text: str) -> None:
        """Save a question under a message, then compute its answer."""
        if not text.strip():
            return
        if self.is_busy:
            self._page.set_draft(text)
            return
        chat, store = self.open_chat, self._services.store
        self.save_first(
            partial(store.add_turn, chat.conversation_id, parent_id, text, self._model.name),
            partial(self._on_turn_saved, perf_counter_ns()),
            given_back=text,
        )

    def save_first(
        self,
        work: Callable[[], T],
        on_saved: Callable[[OpenChat, T], None],
        given_back: str | None = None,
    ) -> None:
        """Change the stored conversation, and go on with it once that is on disk.

        Where that fails nothing has changed, and ``given_back`` stands in the composer again.
        """
        chat = self.open_chat
        self._is_saving = True
        self._page.set_generating(self.is_busy)
        self._services.tasks.run(
            work,
            partial(self._on_saved, chat, on_saved),
            partial(self._on_not_saved, chat, given_back),
        )

    def _on_saved(self, chat: OpenChat, on_saved: Callable[[OpenChat, T], None], saved: T) -> None:
        if chat is not self.open_chat:
            on_saved(chat, saved)
        else:
            must_stop, self._is_saving, self._must_stop = self._must_stop, False, False
            on_saved(chat, saved)
            self._page.set_generating(self.is_busy)
            if must_stop:
                self.stop()
        self.conversations_changed.emit()

    def _on_not_saved(self, chat: OpenChat, given_back: str | None, error: Exception) -> None:
        self.notice.emit(words_for_error(error))
        if given_back is not None:
            self._drafts.change(chat.conversation_id, given_back)
        if chat is self.open_chat:
            self._is_saving = self._must_stop = False
            self._page.set_generating(self.is_busy)
            if given_back is not None:
                self._page.set_draft(given_back)

    def _on_turn_saved(self, sent_ns: int, chat: OpenChat, turn: Turn) -> None:
        is_new, is_branch = chat.conversation_id is None, turn.user.parent_id != chat.leaf
        self._drafts.forget(chat.conversation_id)
        chat.conversation_id = turn.conversation.conversation_id
        chat.extend(turn.user, turn.answer)
        if chat is self.open_chat:
            self._answers.show(chat.conversation_id)
        if chat is self.open_chat and is_branch:
            self.show_path()
        elif chat is self.open_chat:
            self._page.append_message(chat.row(turn.user.message_id))
            self._page.append_message(chat.row(turn.answer.message_id))
        self.compute(chat, turn.answer, sent_ns)
        if chat is self.open_chat and is_new:
            self.current_changed.emit(chat.conversation_id)

    def compute(self, chat: OpenChat, answer: ChatMessage, sent_ns: int) -> None:
        """Ask the engine for an answer that is on disk, and on the page if its chat is."""
        prompt = self._prompt(chat, answer.message_id)
        params = self._services.settings.sampling_params()
        self._answers.begin(answer, prompt, params, sent_ns)
        if chat is self.open_chat:
            self._unpainted[answer.message_id] = sent_ns
            self._page.set_waiting(answer.message_id, self._waiting_words())
            self.answer_begun.emit()
            self._tell_path()

    def _prompt(self, chat: OpenChat, message_id: int | None) -> tuple[Message, ...]:
        """What the model reads of a conversation, up to a message."""
        system_prompt = chat.system_prompt
        if system_prompt is None:
            system_prompt = self._services.settings.text("system_prompt")
        return prompt_of(chat.path_to(message_id), system_prompt)

    def _waiting_words(self) -> str:
        if self._model.is_loading:
            return tr("Queued: it is sent when the model has loaded.")
        return tr("Waiting for the engine…")

    @Slot()
    def stop(self) -> None:
        """Stop the open conversation's answer; what it says so far stays."""
        if self._is_saving:
            self._must_stop = True
        elif self.open_chat.conversation_id is not None:
            self._answers.stop(self.open_chat.conversation_id)

    # ------------------------------------------------------------------ answers

    @Slot(int, PrefillProgress, object)
    def _on_prefilled(
        self, message_id: int, event: PrefillProgress, seconds_left: float | None
    ) -> None:
        if self.open_chat.is_shown(message_id):
            self._page.set_prefill(message_id, event.computed, event.total, seconds_left)

    @Slot(int, TokensProduced)
    def _on_text(self, message_id: int, event: TokensProduced) -> None:
        if event.text and self.open_chat.is_shown(message_id):
            chosen_ns = event.times_ns[-1] if event.times_ns else 0
            self._page.append_text(message_id, event.text, event.guessed, chosen_ns)

    @Slot(int, Reasoning)
    def _on_reasoned(self, message_id: int, reasoning: Reasoning) -> None:
        if self.open_chat.is_shown(message_id):
            self._page.set_reasoning(message_id, reasoning)

    @Slot(int, LeftOut)
    def _on_shortened(self, message_id: int, left_out: LeftOut) -> None:
        if self.open_chat.is_shown(message_id):
            self._page.set_left_out(message_id, left_out)

    @Slot(ChatMessage)
    def _on_ended(self, message: ChatMessage) -> None:
        if not self.open_chat.update(message):
            return
        if self.open_chat.is_shown(message.message_id):
            self._page.finish_message(self.open_chat.row(message.message_id))
        self._page.set_generating(self.is_generating)
        self._tell_path()
        self.conversations_changed.emit()

    @Slot(ChatMessage)
    def _on_measured(self, message: ChatMessage) -> None:
        if self.open_chat.update(message) and self.open_chat.is_shown(message.message_id):
            self._page.finish_message(self.open_chat.row(message.message_id))
            self._tell_path()

    @Slot(int, object)
    def _on_first_painted(self, message_id: int, at_ns: int) -> None:
        sent_ns = self._unpainted.pop(message_id, None)
        if sent_ns is None or message_id not in self.open_chat.tree:
            return
        self.first_painted.emit(at_ns - sent_ns)
        self._answers.note_first_paint(self.open_chat.tree[message_id], at_ns)

    # ------------------------------------------------------------------ composer

    @Slot(str)
    def _on_draft(self, text: str) -> None:
        self._drafts.change(self.open_chat.conversation_id, text)

    @Slot(str)
    def _on_count(self, text: str) -> None:
        chat, edited = self.open_chat, self._page.edited_id
        before = chat.leaf if edited is None else chat.tree[edited].parent_id
        messages: tuple[Message, ...] = ()
        if text.strip() and self._is_room_scarce(text, before):
            messages = with_question(self._prompt(chat, before), text)
        self._count_ticket = self._services.bridge.count_tokens(text, messages)

    def _is_room_scarce(self, text: str, before: int | None) -> bool:
        """Whether the whole prompt is worth counting: that takes the engine's time."""
        info = self._model.info
        used = num_conversation_tokens(self.open_chat.path_to(before))
        return info is not None and used + estimate_tokens(text) > info.context_length / 2

    @Slot(TokensCounted)
    def _on_counted(self, event: TokensCounted) -> None:
        if event.ticket == self._count_ticket:
            self._counted = event
            self._show_token_count()

    @Slot()
    def _on_model_changed(self) -> None:
        self._page.set_empty_state(self._model.name)
        self._show_token_count()

    def _show_token_count(self) -> None:
        info = self._model.info
        use = ContextUse(
            limit=None if info is None else info.context_length,
            used=num_conversation_tokens(self.open_chat.path),
            prompt=self._counted.prompt,
            leaves_out=self._services.settings.text("overflow") != Overflow.STOP.value,
        )
        self._page.set_token_count(self._counted.count, use)

    @Slot(Failure)
    def tell(self, failure: Failure) -> None:
        """Say a failure that belongs to no message."""
        self.notice.emit(words_for(failure))

    def close(self) -> None:
        """Write what is not on disk yet."""
        self._page.composer.flush_draft()
        self._drafts.save()
