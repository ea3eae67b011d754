"""Answers under way and ended ones, what was around them, and their reports.

Hears of events in order and looks at the machine when it is told to; the thread is another's.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from engine.api import (
    AnswerExplained,
    AnswerReport,
    Event,
    ExplainAnswer,
    ExportTrace,
    Finished,
    ModelInfo,
    ModelOptions,
    ModelReady,
    NotePaint,
    PromptTokenized,
    RequestFailed,
    StallCause,
    Timeline,
    TokensProduced,
    TraceExported,
    TraceFormat,
)
from engine.devices import find_gpu
from engine.diagnosis.observation import MachineState
from engine.metrics import Clock, now_ns
from engine.roofline.ceilings import cache_path, path_for, read_ceilings
from engine.tracing.as_json import report_json
from engine.tracing.chrome import chrome_trace
from engine.tracing.costs import ModelCosts
from engine.tracing.machine import MachineWatch
from engine.tracing.pauses import CollectorWatch
from engine.tracing.recorder import Recorder, Trace
from engine.tracing.report import Circumstances, report

LIVE_NS = 1_000_000_000  # between two reports of an answer under way
KEPT = 64  # answers whose reports can be asked for again
_MOST_PAINTS = 100_000

Spans = Mapping[StallCause, tuple[tuple[int, int], ...]]
InspectorCommand = ExplainAnswer | NotePaint | ExportTrace
Item = Event | InspectorCommand | ModelOptions


def known_costs(info: ModelInfo) -> ModelCosts:
    """The model's costs by the ceilings that are on disk; nothing is measured."""
    return ModelCosts(info, read_ceilings(path_for(info.threads)), read_ceilings(cache_path()))


@dataclass(slots=True)
class _Watched:
    """An answer, and what was around it. ``machine`` and ``spans`` are final once it has ended."""

    watch: MachineWatch
    info: ModelInfo
    options: ModelOptions | None
    reported_ns: int
    is_complete: bool = False
    machine: MachineState | None = None
    spans: Spans = field(default_factory=dict)
    first_paint_ns: int | None = None
    delays_ns: list[int] = field(default_factory=list)


class AnswerWatcher:
    """Everything but the thread of the inspector. One thread's own.

    ``collector`` watches Python's garbage collector meanwhile. Reports go to ``on_event``.
    """

    def __init__(
        self,
        on_event: Callable[[Event], None],
        collector: CollectorWatch,
        clock: Clock = now_ns,
        costs_of: Callable[[ModelInfo], ModelCosts] = known_costs,
    ) -> None:
        self._on_event = on_event
        self._collector = collector
        self._clock = clock
        self._costs_of = costs_of
        self._recorder = Recorder(KEPT)
        self._answers: dict[str, _Watched] = {}
        self._info: ModelInfo | None = None
        self._options: ModelOptions | None = None
        self._costs: tuple[ModelInfo, float, ModelCosts] | None = None

    @property
    def has_open(self) -> bool:
        """Whether an answer is under way."""
        return any(not answer.is_complete for answer in self._answers.values())

    def look(self) -> None:
        """Look at the machine, and report on answers under way that are due."""
        now = self._clock()
        for request_id, answer in self._answers.items():
            if answer.is_complete:
                continue
            answer.watch.sample()
            if now - answer.reported_ns >= LIVE_NS:
                answer.reported_ns = now
                self._tell(request_id)

    def hear(self, item: Item) -> None:
        """Take one item, in order."""
        match item:
            case ExplainAnswer(request_id):
                self._tell(request_id)
            case NotePaint():
                self._note_paint(item)
            case ExportTrace():
                self._on_event(export(item))
            case ModelOptions():
                self._options = item
            case ModelReady(info):
                self._info = info
            case PromptTokenized() | TokensProduced() | Finished() | RequestFailed():
                self._hear_of_answer(item)
            case _:
                self._recorder.take([item])

    def _hear_of_answer(
        self, event: PromptTokenized | TokensProduced | Finished | RequestFailed
    ) -> None:
        self._recorder.take([event])
        if isinstance(event, PromptTokenized):
            self._begin(event.request_id)
        elif isinstance(event, Finished | RequestFailed):
            self._end(event.request_id)

    def _begin(self, request_id: str) -> None:
        if self._info is None:
            return
        watch = MachineWatch(self._clock)
        self._answers[request_id] = _Watched(watch, self._info, self._options, self._clock())
        ended = [name for name, answer in self._answers.items() if answer.is_complete]
        for name in ended[: max(0, len(self._answers) - KEPT)]:
            del self._answers[name]

    def _end(self, request_id: str) -> None:
        if (answer := self._answers.get(request_id)) is None:
            return
        answer.watch.sample()
        answer.machine = answer.watch.state(answer.info.threads)
        answer.spans = self._spans(answer)
        answer.is_complete = True
        self._tell(request_id)

    def _spans(self, answer: _Watched) -> Spans:
        return {**answer.watch.spans(), StallCause.COLLECTOR: self._collector.spans}

    def _note_paint(self, paint: NotePaint) -> None:
        if (answer := self._answers.get(paint.request_id)) is None:
            return
        if answer.first_paint_ns is None:
            answer.first_paint_ns = paint.painted_ns
        if len(answer.delays_ns) < _MOST_PAINTS:
            answer.delays_ns.append(max(0, paint.painted_ns - paint.token_ns))

    def _tell(self, request_id: str) -> None:
        found = self.report(request_id)
        if found is not None:
            self._on_event(AnswerExplained(found))

    def report(self, request_id: str) -> AnswerReport | None:
        """An answer's report as of now; None before its first token, or where it is not known."""
        answer, trace = self._answers.get(request_id), self._recorder.trace(request_id)
        line = None if trace is None else trace.line
        if answer is None or trace is None or line is None:
            return None
        costs = self._present_costs(answer.info)
        around = self._around(answer, costs)
        return report(trace, _painted(line, trace, answer), answer.info, costs, around)

    def _around(self, answer: _Watched, costs: ModelCosts) -> Circumstances:
        options, info = answer.options, answer.info
        gpu = find_gpu() if info.num_cpu_layers and costs.ceilings is not None else None
        return Circumstances(
            machine=answer.machine or answer.watch.state(info.threads),
            max_streams=None if options is None else options.max_streams,
            watched=answer.spans if answer.is_complete else self._spans(answer),
            free_bytes=0 if gpu is None else gpu.free_bytes,
            has_gpu_budget=options is not None and options.gpu_budget_bytes is not None,
            paint_delays_ns=tuple(answer.delays_ns),
            keeps_cache=options is None or options.kv_cache,
            is_complete=answer.is_complete,
        )

    def _present_costs(self, info: ModelInfo) -> ModelCosts:
        """Read again when the ceilings on disk have changed."""
        stamp = _changed_at(path_for(info.threads))
        if self._costs is None or self._costs[0] is not info or self._costs[1] != stamp:
            self._costs = (info, stamp, self._costs_of(info))
        return self._costs[2]


def _painted(line: Timeline, trace: Trace, answer: _Watched) -> Timeline:
    """With the first paint, where the window has told of it."""
    first = answer.first_paint_ns
    if first is None or not trace.times_ns:
        return line
    return replace(line, first_paint_ns=max(first, line.first_token_ns))


def _changed_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def export(command: ExportTrace) -> TraceExported:
    """Write the file."""
    values = (
        chrome_trace(command.report)
        if command.format is TraceFormat.CHROME
        else {"model": command.report.model, **report_json(command.report)}
    )
    try:
        Path(command.path).write_text(json.dumps(values), "utf-8")
    except OSError as error:
        problem = (
            f"The trace could not be written to {command.path} ({error.strerror}); choose "
            "another file."
        )
        return TraceExported(command.path, problem)
    return TraceExported(command.path)
