"""Drives an EngineCore in the calling thread: load, answer, and what was measured.

Knows events, not what they are printed as.
"""

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from engine.api import (
    Event,
    Failure,
    Finished,
    FinishReason,
    GenerationRequest,
    KVKindStats,
    LoadProgress,
    ModelFailed,
    ModelInfo,
    ModelOptions,
    ModelProfiled,
    ModelReady,
    PassProfile,
    RequestFailed,
    Timeline,
    TokensProduced,
)
from engine.core import EngineCore
from engine.errors import EngineError
from engine.metrics import inter_token_latencies, summarise


class ReportedFailureError(EngineError):
    """A failure that came as an event, raised again for the command line."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message, **failure.details)
        self.failure = failure


@dataclass(slots=True)
class Answer:
    """What one request produced so far. ``times_ns``: when each token was chosen."""

    text: str = ""
    token_ids: list[int] = field(default_factory=list)
    times_ns: list[int] = field(default_factory=list)
    finish_reason: FinishReason | None = None
    timeline: Timeline | None = None

    def take(self, event: Event) -> None:
        """Add what ``event`` says. Raises ReportedFailureError when the request failed."""
        if isinstance(event, TokensProduced):
            self.timeline = self.timeline or event.timeline
            self.text += event.text
            self.token_ids += event.token_ids
            self.times_ns += event.times_ns
        elif isinstance(event, Finished):
            self.finish_reason = event.reason
            self.timeline = event.timeline
        elif isinstance(event, RequestFailed):
            raise ReportedFailureError(event.failure)

    def metrics(self) -> dict[str, object]:
        """TTFT and its parts, ITL, speeds and token counts; times in ms, rates in tokens/s."""
        line = self.timeline
        result: dict[str, object] = {"output_tokens": len(self.token_ids)}
        if line is not None:
            result |= {
                "prompt_tokens": line.num_prompt_tokens,
                "cached_tokens": line.num_cached_tokens,
                "ttft_ms": line.ttft_ns / 1e6,
                "ttft_parts_ms": {
                    "queue": line.queue_ns / 1e6,
                    "load": line.load_wait_ns / 1e6,
                    "tokenize": line.tokenize_ns / 1e6,
                    "prefill": line.prefill_ns / 1e6,
                    "sample": line.sample_ns / 1e6,
                },
                "prefill_tokens_per_s": line.prefill_tokens_per_s,
                "decode_tokens_per_s": line.decode_tokens_per_s,
            }
            if line.num_drafted_tokens:
                result |= {
                    "drafted_tokens": line.num_drafted_tokens,
                    "accepted_tokens": line.num_accepted_tokens,
                    "tokens_per_step": line.tokens_per_step,
                    "guessing_gain": line.guessing_gain,
                }
        return result | {"itl_ms": itl_ms([self.times_ns])}


def itl_ms(times_ns: Iterable[list[int]]) -> dict[str, float] | None:
    """p50, p95 and maximum of all answers' inter-token latencies; None below two tokens."""
    gaps = itertools.chain.from_iterable(map(inter_token_latencies, times_ns))
    spread = summarise(list(gaps))
    if spread is None:
        return None
    return {"p50": spread.p50 / 1e6, "p95": spread.p95 / 1e6, "max": spread.max / 1e6}


class Session:
    """One loaded model and its requests, each driven to its end."""

    def __init__(
        self,
        options: ModelOptions,
        on_progress: Callable[[LoadProgress], None],
        make_core: Callable[[], EngineCore] = EngineCore,
    ) -> None:
        """Load the model. Raises an EngineError when that fails."""
        self._core = make_core()
        self._numbers = itertools.count(1)
        info: ModelInfo | None = None

        def on_event(event: Event) -> None:
            if isinstance(event, LoadProgress):
                on_progress(event)

        for event in self._core.load(options, on_event):
            if isinstance(event, ModelFailed):
                raise ReportedFailureError(event.failure)
            if isinstance(event, ModelReady):
                info = event.info
        if info is None:
            raise EngineError("The model did not load; try again.")
        self.info = info
        self.kv_kinds: tuple[KVKindStats, ...] = self._core.kv_kinds

    def next_id(self) -> str:
        """A request id not used before."""
        return str(next(self._numbers))

    def run(
        self,
        requests: Iterable[GenerationRequest],
        on_text: Callable[[str], None],
        is_stopped: Callable[[], bool],
    ) -> list[Answer]:
        """Run requests together until all are finished, and return their answers in order.

        ``on_text`` gets text as it comes. Once ``is_stopped()`` is true, what runs is cancelled.
        Raises an EngineError when a request fails. ``kv_kinds`` tells how the cache was used last
        while all of them ran.
        """
        answers: dict[str, Answer] = {}
        try:
            for request in requests:
                answers[request.request_id] = Answer()
                self._take(self._core.submit(request), answers, on_text)
            while any(answer.finish_reason is None for answer in answers.values()):
                if all(answer.finish_reason is None for answer in answers.values()):
                    self.kv_kinds = self._core.kv_kinds
                events = self._core.step(is_stopped)
                self._take(events, answers, on_text)
                if is_stopped():
                    self._take(self._core.cancel_all(), answers, on_text)
        except BaseException:
            self._core.cancel_all()
            raise
        return list(answers.values())

    def join(
        self,
        stream: GenerationRequest,
        guest: Callable[[], GenerationRequest],
        after: int,
        is_stopped: Callable[[], bool],
    ) -> tuple[Answer, Answer]:
        """Let a guest join a stream that has ``after`` tokens; both end with the guest's first.

        Raises an EngineError when one of them fails, or the stream ends before that.
        """
        answers = {stream.request_id: Answer()}
        try:
            self._take(self._core.submit(stream), answers, _ignore)
            self._step_until(lambda: len(answers[stream.request_id].token_ids) >= after, answers)
            joined = guest()
            answers[joined.request_id] = Answer()
            self._take(self._core.submit(joined), answers, _ignore)
            self._step_until(
                lambda: bool(answers[joined.request_id].token_ids) or is_stopped(), answers
            )
            self._take(self._core.cancel_all(), answers, _ignore)
        except BaseException:
            self._core.cancel_all()
            raise
        return answers[stream.request_id], answers[joined.request_id]

    def profile(
        self, context: int, prompt_tokens: int, is_stopped: Callable[[], bool]
    ) -> PassProfile | None:
        """Time the model part by part; None once ``is_stopped()`` is true.

        Raises an EngineError when it fails.
        """
        events = self._core.profile(0, context, prompt_tokens)
        while not is_stopped():
            ended = [event for event in events if isinstance(event, ModelProfiled)]
            if ended and ended[0].profile is None:
                raise EngineError(ended[0].problem)
            if ended:
                return ended[0].profile
            events = self._core.step(is_stopped)
        return None

    def _step_until(self, is_done: Callable[[], bool], answers: dict[str, Answer]) -> None:
        while not is_done():
            self._take(self._core.step(), answers, _ignore)
            if any(answer.finish_reason is not None for answer in answers.values()):
                raise EngineError("A stream ended too early to be measured; use a longer context.")

    @staticmethod
    def _take(
        events: Iterable[Event], answers: dict[str, Answer], on_text: Callable[[str], None]
    ) -> None:
        for event in events:
            if isinstance(event, TokensProduced | Finished | RequestFailed):
                answers[event.request_id].take(event)
            if isinstance(event, TokensProduced) and event.text:
                on_text(event.text)


def _ignore(_text: str) -> None:
    return
