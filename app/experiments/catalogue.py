"""All experiments, in the order in which they are offered."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.experiments import (
    answer_length,
    caching,
    capacity,
    chunks,
    guessing,
    precision,
    prompt_length,
    streams,
)
from app.experiments.trials import Reading, Seen, Subject, Trial

Readings = tuple[Reading, ...]
Findings = Mapping[str, float]


def _nothing(_subject: Subject) -> Readings:
    return ()


@dataclass(frozen=True, slots=True)
class Experiment:
    """What is measured for a subject, what that is read as, and what follows from it.

    ``known``: readings that need no trial. ``findings`` is empty where too little was measured.
    ``is_live``: what a trial shows can be read while it goes on.
    """

    name: str
    plan: Callable[[Subject], tuple[Trial, ...]]
    read: Callable[[Subject, Trial, Seen], Readings]
    findings: Callable[[Readings], Findings]
    known: Callable[[Subject], Readings] = _nothing
    is_live: bool = False


EXPERIMENTS = (
    Experiment("cache", caching.plan, caching.read, caching.findings, is_live=True),
    Experiment("prompt", prompt_length.plan, prompt_length.read, prompt_length.findings),
    Experiment(
        "answer", answer_length.plan, answer_length.read, answer_length.findings, is_live=True
    ),
    Experiment("streams", streams.plan, streams.read, streams.findings),
    Experiment("capacity", capacity.plan, capacity.read, capacity.findings, capacity.calculated),
    Experiment(
        "weights",
        precision.plan_weights,
        precision.read_weights,
        precision.findings,
        precision.known_losses,
    ),
    Experiment("kv", precision.plan_cache, precision.read_cache, precision.findings),
    Experiment("guessing", guessing.plan, guessing.read, guessing.findings),
    Experiment("chunks", chunks.plan, chunks.read, chunks.findings),
)
BY_NAME: Mapping[str, Experiment] = {experiment.name: experiment for experiment in EXPERIMENTS}
