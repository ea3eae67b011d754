"""Carries out one trial at a time: answers of the loaded model, or a program of its own.

Tells what was seen, or why nothing was; a trial that is dropped says nothing any more.
"""

from dataclasses import dataclass, field
from time import perf_counter_ns

from PySide6.QtCore import QObject, Signal, Slot

from app.bridge import EngineBridge
from app.controllers.failures import words_for
from app.controllers.measurement import Measurement
from app.experiments.prompts import Prompts
from app.experiments.trials import AnswerSeen, Ask, EngineTrial, ProgramTrial, Seen, Trial
from engine.api import (
    EngineStats,
    Finished,
    FinishReason,
    GenerationRequest,
    PrefillProgress,
    RequestFailed,
    SamplingParams,
    Timeline,
    TokensProduced,
)

PRIORITY = -1  # a chat goes first
_LASTING = 4  # tokens of each answer


@dataclass(slots=True)
class _Asked:
    """One answer under way."""

    ask: Ask
    num_words: int
    num_computed: int = 0
    times_ns: list[int] = field(default_factory=list)
    timeline: Timeline | None = None
    is_ended: bool = False

    def seen(self) -> AnswerSeen:
        """What there is of it."""
        return AnswerSeen(tuple(self.times_ns), self.timeline)


class Bench(QObject):
    """``progressed``: the part (0 to 1) of the present trial that is done."""

    progressed = Signal(float)
    seen = Signal(Seen)
    failed = Signal(str)

    def __init__(
        self,
        bridge: EngineBridge,
        measurement: Measurement,
        prompts: Prompts,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._bridge = bridge
        self._measurement = measurement
        self._prompts = prompts
        self._count = 0
        self._trial: Trial | None = None
        self._asked: dict[str, _Asked] = {}
        self._most_running = 0
        self._writing: tuple[int, int] | None = None  # how many alone write, since which token
        bridge.prefill_progressed.connect(self._on_prefill)
        bridge.tokens_produced.connect(self._on_tokens)
        bridge.finished.connect(self._on_finished)
        bridge.failed.connect(self._on_failed)
        bridge.stats_changed.connect(self._on_stats)
        measurement.progressed.connect(self._on_progress)
        measurement.measured.connect(self._on_measured)
        measurement.failed.connect(self._on_program_failed)

    def run(self, trial: Trial) -> None:
        """Begin a trial; none may be under way."""
        assert self._trial is None
        self._trial = trial
        if isinstance(trial, ProgramTrial):
            self._measurement.start(trial.arguments)
            return
        self._most_running, self._writing = 0, None
        for ask in trial.asks:
            self._ask(ask)

    def so_far(self) -> Seen:
        """What the present trial shows until now; a program shows nothing before its end."""
        return Seen(tuple(asked.seen() for asked in self._asked.values()), self._most_running)

    def drop(self) -> None:
        """Give the present trial up; nothing is said of it."""
        self._trial = None
        for request_id, asked in self._asked.items():
            if not asked.is_ended:
                self._bridge.cancel(request_id)
        self._asked.clear()
        if self._measurement.is_running:
            self._measurement.cancel()

    def close(self) -> None:
        """Leave no program behind."""
        self._trial = None
        self._asked.clear()
        self._measurement.close()

    # ------------------------------------------------------------------ answers

    def _ask(self, ask: Ask) -> None:
        self._count += 1
        request_id = f"experiment.{self._count}"
        text = self._prompts.text(ask.prompt_tokens, ask.text)
        self._asked[request_id] = _Asked(ask, len(text.split()))
        self._bridge.submit(
            GenerationRequest(
                request_id,
                sent_ns=perf_counter_ns(),
                params=SamplingParams(temperature=0.0, max_tokens=ask.new_tokens, ignore_eos=True),
                prompt=text,
                priority=PRIORITY,
                kv_cache=ask.kv_cache,
                guess_ahead=ask.guess_ahead,
            )
        )

    @Slot(PrefillProgress)
    def _on_prefill(self, event: PrefillProgress) -> None:
        if (asked := self._asked.get(event.request_id)) is not None:
            asked.num_computed = event.computed
            self._tell()

    @Slot(TokensProduced)
    def _on_tokens(self, event: TokensProduced) -> None:
        if (asked := self._asked.get(event.request_id)) is not None:
            asked.times_ns += event.times_ns
            asked.timeline = event.timeline or asked.timeline
            self._tell()

    @Slot(Finished)
    def _on_finished(self, event: Finished) -> None:
        if (asked := self._asked.get(event.request_id)) is None:
            return
        asked.is_ended = True
        asked.timeline = event.timeline or asked.timeline
        if event.reason is FinishReason.CANCELLED:  # by the engine, as when the model changes
            self._end()
            self.failed.emit("")
        elif all(each.is_ended for each in self._asked.values()):
            self._succeed()

    @Slot(RequestFailed)
    def _on_failed(self, event: RequestFailed) -> None:
        if (asked := self._asked.get(event.request_id)) is not None:
            asked.is_ended = True
            self._end()
            self.failed.emit(words_for(event.failure))

    @Slot(EngineStats)
    def _on_stats(self, stats: EngineStats) -> None:
        if not self._asked:
            return
        self._most_running = max(self._most_running, min(stats.num_running, len(self._asked)))
        if isinstance(self._trial, EngineTrial) and self._trial.until_admitted:
            begun = sum(bool(asked.times_ns) for asked in self._asked.values())
            if begun == len(self._asked) or self._has_settled(stats, begun):
                self._succeed()

    def _has_settled(self, stats: EngineStats, begun: int) -> bool:
        """Answers that wait while all others write have no room, if that lasts some tokens."""
        num_tokens = sum(len(asked.times_ns) for asked in self._asked.values())
        if not stats.num_waiting or begun < stats.num_running:
            self._writing = None
        elif self._writing is None or self._writing[0] != stats.num_running:
            self._writing = (stats.num_running, num_tokens)
        else:
            return num_tokens - self._writing[1] >= _LASTING * stats.num_running
        return False

    def _tell(self) -> None:
        trial = self._trial
        if isinstance(trial, EngineTrial):
            done = sum(
                trial.cost_of(asked.ask, asked.num_computed, len(asked.times_ns))
                for asked in self._asked.values()
            )
            self.progressed.emit(min(1.0, done / max(1.0, trial.cost)))

    def _succeed(self) -> None:
        seen = self.so_far()
        for asked in self._asked.values():
            if asked.timeline is not None:
                self._prompts.learn(asked.num_words, asked.timeline.num_prompt_tokens)
        self._end()
        self.seen.emit(seen)

    def _end(self) -> None:
        """The trial is over; what still runs of it is cancelled."""
        self.drop()

    # ------------------------------------------------------------------ programs

    @Slot(float)
    def _on_progress(self, part: float) -> None:
        if self._trial is not None:
            self.progressed.emit(part)

    @Slot(dict, float)
    def _on_measured(self, printed: dict[str, object], seconds: float) -> None:
        if self._trial is not None:
            self._trial = None
            self.seen.emit(Seen(printed=printed, seconds=seconds))

    @Slot(str)
    def _on_program_failed(self, reason: str) -> None:
        if self._trial is not None:
            self._trial = None
            self.failed.emit(reason)
