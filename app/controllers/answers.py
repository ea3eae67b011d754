"""Answers in the making, of all conversations, whether shown or not.

Keeps the growing text in memory and writes it to the store every second, so that a crash costs
at most that second. What could not be written is kept and written again. Knows no page.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter_ns

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.controllers.services import Services
from app.conversations import ChatMessage
from app.store.errors import failure_of
from engine.api import (
    Failure,
    Finished,
    FinishReason,
    GenerationRequest,
    LeftOut,
    Message,
    Overflow,
    PrefillProgress,
    PromptTokenized,
    RequestFailed,
    SamplingParams,
    Timeline,
    TokensProduced,
)
from ui.chat.rows import MessageStatus, Reasoning

CHECKPOINT_MS = 1000
MAX_GUESSED = 10_000  # ranges kept of one answer


@dataclass(slots=True)
class Thought:
    """A reasoning as it comes."""

    pieces: list[str] = field(default_factory=list)
    num_tokens: int = 0
    start_ns: int = 0
    end_ns: int = 0

    def take(self, event: TokensProduced) -> None:
        """Take the part of an event's tokens that are reasoning: its first ones."""
        if not event.reasoning:
            return
        self.pieces.append(event.reasoning)
        self.num_tokens += event.num_reasoning
        if event.times_ns:
            self.start_ns = self.start_ns or event.times_ns[0]
            # tokens held back before count with the text that they became
            last = min(event.num_reasoning, len(event.times_ns)) - 1
            self.end_ns = event.times_ns[max(0, last)]

    @property
    def present(self) -> Reasoning | None:
        """All that has come; None before anything has."""
        if not self.pieces:
            return None
        return Reasoning("".join(self.pieces), self.num_tokens, self.end_ns - self.start_ns)


@dataclass(slots=True)
class LiveAnswer:
    """One answer while its engine request runs. ``message`` holds what was there before."""

    message: ChatMessage
    request_id: str
    sent_ns: int
    pieces: list[str] = field(default_factory=list)
    prefill_ns: int | None = None
    first_paint_ns: int | None = None
    is_dirty: bool = False
    first_token: Timeline | None = None
    thought: Thought = field(default_factory=Thought)
    guessed: list[tuple[int, int]] = field(default_factory=list)
    num_characters: int = 0
    left_out: LeftOut | None = None

    @property
    def timeline(self) -> Timeline | None:
        """The stages up to the first token, and to its painting once that is done."""
        if self.first_token is None or self.first_paint_ns is None:
            return self.first_token
        return _painted(self.first_token, self.first_paint_ns)

    @property
    def present(self) -> ChatMessage:
        """The message with all text that has arrived."""
        return replace(
            self.message,
            content=self.message.content + "".join(self.pieces),
            reasoning=self.thought.present or self.message.reasoning,
            guessed=(*self.message.guessed, *self.guessed),
        )

    def take(self, event: TokensProduced) -> None:
        """Take new text of the answer, or of the reasoning before it."""
        self.first_token = self.first_token or event.timeline
        self.thought.take(event)
        if event.text:
            start = len(self.message.content) + self.num_characters
            if len(self.guessed) < MAX_GUESSED:
                self.guessed += [(start + first, start + end) for first, end in event.guessed]
            self.pieces.append(event.text)
            self.num_characters += len(event.text)
        self.is_dirty = self.is_dirty or bool(event.text or event.reasoning)

    def seconds_left(self, event: PrefillProgress, now_ns: int) -> float | None:
        """An estimate of the rest of the prefill, from the chunks that are done."""
        num_done = event.computed - event.cached
        if self.prefill_ns is None or num_done <= 0:
            return None
        return (event.total - event.computed) * (now_ns - self.prefill_ns) / num_done / 1e9


class Answers(QObject):
    """Starts, stops, keeps and saves answers."""

    prefilled = Signal(int, PrefillProgress, object)  # message id, event, seconds left or None
    text_arrived = Signal(int, TokensProduced)
    reasoned = Signal(int, Reasoning)
    shortened = Signal(int, LeftOut)  # message id, what of its conversation it does not see
    ended = Signal(ChatMessage)
    measured = Signal(ChatMessage)
    generating_changed = Signal()
    save_failed = Signal(Failure)
    saved = Signal()

    def __init__(self, services: Services, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._bridge = bridge = services.bridge
        self._store = services.store
        self._tasks = services.tasks
        self._settings = services.settings
        self._visible: int | None = None
        self._live: dict[str, LiveAnswer] = {}
        self._ended: dict[int, ChatMessage] = {}  # until their last state is on disk
        self._requests: dict[int, str] = {}  # of each answer of this run the latest
        self._num_requests = 0
        self._num_served = 0
        self._is_saving = False
        self._save_has_failed = False
        self._checkpoint = QTimer(self)
        self._checkpoint.setObjectName("answer-checkpoint")
        self._checkpoint.setInterval(CHECKPOINT_MS)
        self._checkpoint.timeout.connect(self.save)
        bridge.prompt_tokenized.connect(self._on_tokenized)
        bridge.prefill_progressed.connect(self._on_prefill)
        bridge.tokens_produced.connect(self._on_tokens)
        bridge.finished.connect(self._on_finished)
        bridge.failed.connect(self._on_failed)

    # ------------------------------------------------------------------ questions

    def generating(self) -> frozenset[int]:
        """Ids of the conversations that have an answer in the making."""
        return frozenset(live.message.conversation_id for live in self._live.values())

    @property
    def are_awaited(self) -> bool:
        """Whether somebody waits for the engine: a chat, or another program that is served."""
        return bool(self._live) or self._num_served > 0

    def set_served(self, num_served: int) -> None:
        """Say how many answers of other programs are under way; measurements wait for them."""
        was_awaited = self.are_awaited
        self._num_served = num_served
        if self.are_awaited != was_awaited:
            self.generating_changed.emit()

    @property
    def has_unsaved(self) -> bool:
        """Whether an ended answer is not on disk yet."""
        return bool(self._ended)

    def live_in(self, conversation_id: int) -> LiveAnswer | None:
        """The answer in the making of one conversation."""
        return next(self._live_of(conversation_id), None)

    def request_of(self, message_id: int) -> str | None:
        """The engine's request for an answer of this run, ended or not."""
        return self._requests.get(message_id)

    def overlay(self, message: ChatMessage) -> ChatMessage:
        """The newest state of a stored message: what is in memory is ahead of the disk."""
        if (ended := self._ended.get(message.message_id)) is not None:
            return ended
        for live in self._live.values():
            if live.message.message_id == message.message_id:
                return live.present
        return message

    # ------------------------------------------------------------------ calls

    def begin(
        self,
        message: ChatMessage,
        prompt: tuple[Message, ...],
        params: SamplingParams,
        sent_ns: int,
    ) -> None:
        """Compute ``message``, which is on disk already; new text follows its content."""
        self._num_requests += 1
        request_id = f"{message.message_id}.{self._num_requests}"
        message = replace(
            message,
            status=MessageStatus.STREAMING,
            reason=None,
            timeline=None,
            failure=None,
            reasoning=message.reasoning if message.content else None,
        )
        self._ended.pop(message.message_id, None)
        self._requests[message.message_id] = request_id
        self._live[request_id] = LiveAnswer(message, request_id, sent_ns)
        self._checkpoint.start()
        self._bridge.submit(
            GenerationRequest(
                request_id,
                sent_ns=sent_ns,
                params=params,
                messages=prompt,
                conversation_id=str(message.conversation_id),
                priority=self._priority(message),
                overflow=Overflow(self._settings.text("overflow")),
            )
        )
        self.generating_changed.emit()

    def show(self, conversation_id: int | None) -> None:
        """The answers of this conversation are the visible ones: they go before others."""
        self._visible = conversation_id
        for live in self._live.values():
            self._bridge.prioritise(live.request_id, self._priority(live.message))

    def stop(self, conversation_id: int) -> None:
        """Stop the answers of one conversation; ``ended`` follows."""
        for live in self._live_of(conversation_id):
            self._bridge.cancel(live.request_id)

    def stop_all(self) -> None:
        """Stop every answer."""
        for request_id in self._live:
            self._bridge.cancel(request_id)

    def note_first_paint(self, message: ChatMessage, at_ns: int) -> None:
        """Complete an answer's timeline: its first character became visible at ``at_ns``.

        A short answer may have ended before it was painted; ``measured`` then follows.
        """
        for live in self._live.values():
            if live.message.message_id == message.message_id:
                live.first_paint_ns = live.first_paint_ns or at_ns
                return
        if message.timeline is not None and message.timeline.first_paint_ns is None:
            message = replace(message, timeline=_painted(message.timeline, at_ns))
            self._keep(message)
            self.measured.emit(message)

    @Slot()
    def save(self) -> None:
        """Write what is not on disk yet; at most one such write is under way."""
        if self._is_saving:
            return
        dirty = [live for live in self._live.values() if live.is_dirty]
        if not dirty and not self._ended:
            if not self._live:
                self._checkpoint.stop()
            return
        for live in dirty:
            live.is_dirty = False
        ended = dict(self._ended)
        self._is_saving = True
        self._tasks.run(
            partial(self._store.save_messages, [*ended.values(), *(x.present for x in dirty)]),
            partial(self._on_saved, ended),
            partial(self._on_save_failed, [live.request_id for live in dirty]),
        )

    def close(self) -> None:
        """Write the last state and stop the timer. The engine has ended by now."""
        self._is_saving = False
        self.save()
        self._checkpoint.stop()

    # ------------------------------------------------------------------ from the bridge

    @Slot(PromptTokenized)
    def _on_tokenized(self, event: PromptTokenized) -> None:
        if (live := self._live.get(event.request_id)) is not None:
            live.prefill_ns = perf_counter_ns()
            live.left_out = event.left_out
            if event.left_out is not None:
                self.shortened.emit(live.message.message_id, event.left_out)

    @Slot(PrefillProgress)
    def _on_prefill(self, event: PrefillProgress) -> None:
        if (live := self._live.get(event.request_id)) is not None:
            left_s = live.seconds_left(event, perf_counter_ns())
            self.prefilled.emit(live.message.message_id, event, left_s)

    @Slot(TokensProduced)
    def _on_tokens(self, event: TokensProduced) -> None:
        if (live := self._live.get(event.request_id)) is None:
            return
        live.take(event)
        if event.reasoning and (thought := live.thought.present) is not None:
            self.reasoned.emit(live.message.message_id, thought)
        self.text_arrived.emit(live.message.message_id, event)

    @Slot(Finished)
    def _on_finished(self, event: Finished) -> None:
        if (live := self._live.pop(event.request_id, None)) is not None:
            self._end(live, event.timeline, reason=event.reason)

    @Slot(RequestFailed)
    def _on_failed(self, event: RequestFailed) -> None:
        if (live := self._live.pop(event.request_id, None)) is not None:
            self._end(live, event.timeline, reason=FinishReason.FAILED, failure=event.failure)

    def _end(
        self,
        live: LiveAnswer,
        timeline: Timeline | None,
        *,
        reason: FinishReason,
        failure: Failure | None = None,
    ) -> None:
        if timeline is not None and live.first_paint_ns is not None:
            timeline = _painted(timeline, live.first_paint_ns)
        status = MessageStatus.COMPLETE if failure is None else MessageStatus.FAILED
        message = replace(
            live.present, status=status, reason=reason, timeline=timeline, failure=failure
        )
        self._keep(message)
        self.ended.emit(message)
        self.generating_changed.emit()

    # ------------------------------------------------------------------ saving

    def _keep(self, message: ChatMessage) -> None:
        self._ended[message.message_id] = message
        self._checkpoint.start()
        self.save()

    def _on_saved(self, ended: dict[int, ChatMessage], _nothing: None) -> None:
        self._is_saving = False
        for message_id, message in ended.items():
            if self._ended.get(message_id) is message:
                del self._ended[message_id]
        if self._save_has_failed:
            self._save_has_failed = False
            self.saved.emit()
        if self._ended:
            self.save()

    def _on_save_failed(self, request_ids: list[str], error: Exception) -> None:
        self._is_saving = False
        for request_id in request_ids:
            if (live := self._live.get(request_id)) is not None:
                live.is_dirty = True
        if not self._save_has_failed:  # once, not every second
            self._save_has_failed = True
            self.save_failed.emit(failure_of(error))

    def _priority(self, message: ChatMessage) -> int:
        return int(message.conversation_id == self._visible)

    def _live_of(self, conversation_id: int) -> Iterator[LiveAnswer]:
        return (
            live for live in self._live.values() if live.message.conversation_id == conversation_id
        )


def _painted(timeline: Timeline, at_ns: int) -> Timeline:
    return replace(timeline, first_paint_ns=max(at_ns, timeline.first_token_ns))
