"""Follows answers through the engine's events: chunks, token times, who else had the engine.

Knows events only. Takes every event of the engine, in order, and costs a few list appends each.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from engine.api import (
    Event,
    Finished,
    PrefillProgress,
    PromptTokenized,
    RequestFailed,
    Timeline,
    TokensProduced,
)

_MOST_SPANS = 4_096  # steps of others that are remembered


@dataclass(frozen=True, slots=True)
class Chunk:
    """A step's part of a prompt: ``num_tokens`` computed, after ``start`` that were there."""

    start: int
    num_tokens: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, slots=True)
class Trace:
    """One answer so far.

    ``times_ns``: when each token was chosen; ``preempted``: indices of tokens before which the
    answer had to be computed anew. ``others``: chunks of other prompts meanwhile, (start, end).
    ``num_ahead``: answers under way when this one came. ``timeline`` None: no token yet; before the
    end of the answer it is the one of the first token (see ``line``).
    """

    request_id: str
    timeline: Timeline | None
    chunks: tuple[Chunk, ...]
    times_ns: tuple[int, ...]
    preempted: tuple[int, ...]
    others: tuple[tuple[int, int], ...]
    num_ahead: int
    num_accepted: int = 0
    token_ids: tuple[int, ...] = ()

    @property
    def line(self) -> Timeline | None:
        """The timeline up to the latest token, also while the answer goes on.

        Until then nobody has said what the forward passes took.
        """
        line = self.timeline
        if line is None or len(self.times_ns) <= line.num_output_tokens:
            return line
        return replace(
            line,
            last_token_ns=self.times_ns[-1],
            text_end_ns=None,
            num_output_tokens=len(self.times_ns),
            num_accepted_tokens=self.num_accepted,
            num_drafted_tokens=max(line.num_drafted_tokens, self.num_accepted),
            decode_forward_ns=None,
        )


@dataclass(slots=True)
class _Open:
    num_ahead: int
    timeline: Timeline | None = None
    chunks: list[Chunk] = field(default_factory=list)
    computed: int | None = None
    times_ns: list[int] = field(default_factory=list)
    preempted: list[int] = field(default_factory=list)
    num_preemptions: int = 0
    num_accepted: int = 0
    token_ids: list[int] = field(default_factory=list)


class Recorder:
    """Keeps what is needed for the traces of the last ``most`` answers. One thread's own."""

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._answers: dict[str, _Open] = {}
        self._under_way: set[str] = set()
        self._chunks: deque[tuple[str, int, int]] = deque(maxlen=_MOST_SPANS)

    def take(self, events: Iterable[Event]) -> None:
        """Note what ``events`` say."""
        for event in events:
            match event:
                case PromptTokenized():
                    self._begin(event.request_id)
                case PrefillProgress():
                    self._note_chunk(event)
                case TokensProduced():
                    self._note_tokens(event)
                case Finished() | RequestFailed():
                    self._under_way.discard(event.request_id)
                    answer = self._answers.get(event.request_id)
                    if answer is not None and event.timeline is not None:
                        answer.timeline = event.timeline
                case _:
                    pass

    def trace(self, request_id: str) -> Trace | None:
        """The answer so far; None where it is not known (any more)."""
        answer = self._answers.get(request_id)
        if answer is None:
            return None
        others = [(start, end) for name, start, end in self._chunks if name != request_id]
        return Trace(
            request_id,
            answer.timeline,
            tuple(_within(answer.chunks, answer.timeline)),
            tuple(answer.times_ns),
            tuple(answer.preempted),
            tuple(others),
            answer.num_ahead,
            answer.num_accepted,
            tuple(answer.token_ids),
        )

    def _begin(self, request_id: str) -> None:
        self._answers[request_id] = _Open(num_ahead=len(self._under_way))
        self._under_way.add(request_id)
        while len(self._answers) > self._most:
            done = (name for name in self._answers if name not in self._under_way)
            if (oldest := next(done, None)) is None:
                return
            del self._answers[oldest]

    def _note_chunk(self, event: PrefillProgress) -> None:
        self._chunks.append((event.request_id, event.start_ns, event.end_ns))
        answer = self._answers.get(event.request_id)
        if answer is None:
            return
        known = event.cached if answer.computed is None else answer.computed
        known = min(known, event.computed)  # less after a preemption
        chunk = Chunk(known, event.computed - known, event.start_ns, event.end_ns)
        answer.chunks.append(chunk)
        answer.computed = event.computed

    def _note_tokens(self, event: TokensProduced) -> None:
        answer = self._answers.get(event.request_id)
        if answer is None:
            return
        if event.num_preemptions > answer.num_preemptions:
            if answer.times_ns:
                answer.preempted.append(len(answer.times_ns))
            answer.num_preemptions = event.num_preemptions
        answer.times_ns += event.times_ns
        answer.token_ids += event.token_ids
        answer.num_accepted += event.num_accepted
        answer.timeline = event.timeline or answer.timeline


def _within(chunks: Iterable[Chunk], line: Timeline | None) -> Iterable[Chunk]:
    """A prompt's first step was planned before the prompt was taken in: it begins with that."""
    least = 0 if line is None else line.prefill_start_ns
    return (replace(chunk, start_ns=max(chunk.start_ns, least)) for chunk in chunks)
