"""``python -m engine trace``: one answer, and where its time and memory went."""

import argparse
import json
import sys
import time
from pathlib import Path

from typing_extensions import override

from engine.api import Event, GenerationRequest, Message, ModelInfo, StallCause, Timeline
from engine.cli.arguments import model_options, sampling_params
from engine.cli.layers import describe_layers, profile_json
from engine.cli.session import Session
from engine.cli.terminal import LoadLine, StopOnInterrupt
from engine.core import EngineCore, never
from engine.devices import find_gpu
from engine.errors import EngineError
from engine.roofline.ceilings import Ceilings, cache_path, path_for, read_ceilings
from engine.roofline.kept import ceilings_of
from engine.session import Question
from engine.tracing.as_json import report_json
from engine.tracing.chrome import chrome_trace
from engine.tracing.costs import ModelCosts
from engine.tracing.machine import MachineWatch
from engine.tracing.pauses import CollectorWatch
from engine.tracing.recorder import Recorder
from engine.tracing.report import Circumstances, report

_INTERRUPTED = 130
_SAMPLE_EVERY = 16  # tokens
_MEASURING = "Measuring this machine once; this takes some seconds."
_NO_TOKEN = "The answer ended before its first token, so there is nothing to trace; try again."  # noqa: S105 - a sentence


class WatchedCore(EngineCore):
    """An engine whose events a recorder hears first."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__()
        self._recorder = recorder
        self.watch: MachineWatch | None = None
        self._num_steps = 0

    @override
    def submit(self, request: GenerationRequest) -> list[Event]:
        """As EngineCore's; the machine is watched from here on."""
        self.watch = MachineWatch()
        return self._heard(super().submit(request))

    @override
    def step(self, interrupted: Question = never) -> list[Event]:
        """As EngineCore's."""
        events = self._heard(super().step(interrupted))
        self._num_steps += 1
        if self.watch is not None and self._num_steps % _SAMPLE_EVERY == 1:
            self.watch.sample()
        return events

    @override
    def cancel_all(self) -> list[Event]:
        """As EngineCore's."""
        return self._heard(super().cancel_all())

    def _heard(self, events: list[Event]) -> list[Event]:
        self._recorder.take(events)
        return events


def run_trace(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises EngineError."""
    recorder = Recorder()
    core = WatchedCore(recorder)
    progress = LoadLine()
    wanted = model_options(options)
    try:
        session = Session(wanted, progress, lambda: core)
    finally:
        progress.clear()
    costs = ModelCosts(
        session.info, trace_ceilings(options.roofline, session.info), read_ceilings(cache_path())
    )
    request = GenerationRequest(
        request_id=session.next_id(),
        sent_ns=time.perf_counter_ns(),
        params=sampling_params(options),
        messages=() if options.raw else (Message("user", options.prompt),),
        prompt=options.prompt if options.raw else None,
    )
    with CollectorWatch() as collector, StopOnInterrupt() as interrupt:
        session.run([request], lambda _text: None, interrupt.is_stopped)
        was_stopped = interrupt.is_stopped()
    trace = recorder.trace(request.request_id)
    line = None if trace is None else trace.line
    if trace is None or line is None or core.watch is None:
        raise EngineError(_NO_TOKEN)
    gpu = find_gpu() if session.info.num_cpu_layers else None
    around = Circumstances(
        machine=core.watch.state(session.info.threads),
        max_streams=wanted.max_streams,
        watched={**core.watch.spans(), StallCause.COLLECTOR: collector.spans},
        free_bytes=0 if gpu is None else gpu.free_bytes,
        keeps_cache=wanted.kv_cache,
        has_gpu_budget=wanted.gpu_budget_bytes is not None,
    )
    found = report(trace, line, session.info, costs, around)
    ceilings = None if costs.ceilings is None else costs.ceilings.as_json()
    result = {"model": session.info.name, **report_json(found, ceilings)}
    if options.layers and not was_stopped:
        result |= _layers(session, line)
    if options.chrome is not None:
        _write(options.chrome, chrome_trace(found))
    print(json.dumps(result) if options.json else describe(result))
    return _INTERRUPTED if was_stopped else 0


def _layers(session: Session, line: Timeline) -> dict[str, object]:
    """A profile of passes as long as the answer's; nothing where that is stopped."""
    context = line.num_prompt_tokens + line.num_output_tokens - 1
    with StopOnInterrupt() as interrupt:
        profile = session.profile(context, line.num_prompt_tokens, interrupt.is_stopped)
    return {} if profile is None else {"layers": profile_json(profile)}


def trace_ceilings(path: Path | None, info: ModelInfo) -> Ceilings:
    """The ceilings for as many threads as the model runs on; other numbers have their own file."""
    threads = None
    if path is None:
        path = path_for(info.threads)
        threads = None if path == cache_path() else info.threads
    if not path.exists():
        print(_MEASURING, file=sys.stderr)
    return ceilings_of(path, threads)


def _write(path: Path, values: dict[str, object]) -> None:
    try:
        path.write_text(json.dumps(values), "utf-8")
    except OSError as error:
        raise EngineError(
            f"The trace could not be written to {path} ({error.strerror}); choose another file."
        ) from None


def describe(result: dict[str, object]) -> str:
    """For people: a bar a stage, then the sentence."""
    stages, diagnosis = result["stages"], result["diagnosis"]
    assert isinstance(stages, list)
    assert isinstance(diagnosis, dict)
    total = max(1e-9, float(str(result["total_ms"])))
    lines = []
    for stage in stages:
        width = round(40 * stage["duration_ms"] / total)
        lines.append(f"{stage['name']:<13}{stage['duration_ms']:>10.2f} ms  {'#' * width}")
    lines.append(str(diagnosis["sentence"]))
    for remedy in diagnosis["remedies"]:
        value = "" if remedy["value"] is None else f" = {remedy['value']}"
        lines.append(f"  {remedy['key']}{value}: ~{remedy['gain']:.2f} times as fast")
    layers = result.get("layers")
    if isinstance(layers, dict):
        lines += describe_layers(layers)
    return "\n".join(lines)
