"""A run of an experiment as it is kept: what was measured, on what, with what settings, when."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.experiments.spread import curve, series_of
from app.experiments.trials import Reading
from engine.api import ModelInfo


@dataclass(frozen=True, slots=True)
class Setting:
    """What the loaded model and this machine were. ``machine`` names the processor or the GPU."""

    machine: str
    threads: int
    model: str
    precision: str
    kv: str
    context: int
    draft: str = ""

    @classmethod
    def of(cls, info: ModelInfo, model: str) -> "Setting":
        """Of a loaded model that people call ``model``."""
        return cls(
            machine=info.device_name,
            threads=info.threads,
            model=model,
            precision=info.precision.value,
            kv=info.kv_dtype,
            context=info.context_length,
            draft=info.draft,
        )


@dataclass(frozen=True, slots=True)
class Run:
    """One run. ``at``: when it began, ISO 8601 in UTC. ``run_id`` sorts by time.

    ``is_complete`` False: it was stopped, or some of its points could not be measured; ``failures``
    says why, a sentence each. ``other_cores``: so many were busy for other programs meanwhile.
    ``seconds`` it measured, and the ``cost`` of what was measured, as trials state it; 0 of runs
    kept before that was noted.
    """

    run_id: str
    experiment: str
    depth: str
    at: str
    setting: Setting
    readings: tuple[Reading, ...]
    is_complete: bool = True
    failures: tuple[str, ...] = ()
    other_cores: float = 0.0
    seconds: float = 0.0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric at one place in two runs; ``change`` 0.1 is 10% more in the second."""

    series: str
    x: float
    label: str
    metric: str
    first: float
    second: float

    @property
    def change(self) -> float | None:
        """None where the first is 0."""
        return (self.second - self.first) / self.first if self.first else None


def differences(
    first: Sequence[Reading], second: Sequence[Reading], metrics: Sequence[str]
) -> tuple[Difference, ...]:
    """Every place that both measured, metric by metric, by its middle value."""
    found = []
    for metric in metrics:
        for series in series_of(first):
            ours, theirs = (_places(readings, series, metric) for readings in (first, second))
            found += [
                Difference(series, x, label, metric, value, theirs[x, label])
                for (x, label), value in ours.items()
                if (x, label) in theirs
            ]
    return tuple(found)


def _places(
    readings: Sequence[Reading], series: str, metric: str
) -> Mapping[tuple[float, str], float]:
    return {(s.x, s.label): s.middle for s in curve(readings, series, metric)}
