"""What each way of keeping the cache was measured to lose with a model, by kept experiments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.experiments.kept import read_runs
from app.experiments.precision import AGREEMENT, DIVERGENCE, QUALITY
from app.experiments.runs import Run
from app.tasks import Tasks
from engine.api import ModelInfo
from ui.i18n import tr
from ui.widgets.model_name import model_title

_EXPERIMENT = "kv"


@dataclass(frozen=True, slots=True)
class KVLoss:
    """Against a cache in full: part of the same likeliest tokens, and KL divergence in nats."""

    agreement: float
    divergence: float

    @property
    def words(self) -> str:
        """A few words for a reader."""
        # 99.96% is not all of them
        part = "100%" if self.agreement >= 1 else f"{min(self.agreement, 0.999):.1%}"
        same = tr("{part} same token", part=part)
        return f"{same} · KL {self.divergence:.3f}"


def losses_in(runs: Sequence[Run], model: str, precision: str) -> dict[str, KVLoss]:
    """What the latest runs say of a model, by kind of cache. ``runs``: the latest first."""
    found: dict[str, KVLoss] = {}
    for run in runs:
        if run.experiment != _EXPERIMENT or (run.setting.model, run.setting.precision) != (
            model,
            precision,
        ):
            continue
        for reading in run.readings:
            agreement, divergence = (reading.values.get(n) for n in (AGREEMENT, DIVERGENCE))
            is_loss = reading.series == QUALITY and agreement is not None
            if is_loss and agreement is not None and divergence is not None:
                found.setdefault(reading.label, KVLoss(agreement, divergence))
    return found


class KVQuality(QObject):
    """Reads kept experiments when told to. ``changed``: they were read."""

    changed = Signal()

    def __init__(self, folder: Path, tasks: Tasks, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._folder = folder
        self._tasks = tasks
        self._runs: list[Run] = []

    def refresh(self) -> None:
        """Read what was measured so far."""
        self._tasks.run(partial(read_runs, self._folder), self._on_read)

    def of(self, info: ModelInfo) -> Mapping[str, KVLoss]:
        """By kind of cache; empty where nothing was measured of this model as it is loaded."""
        title = model_title(info.path, info.name)
        return losses_in(self._runs, title, info.precision.value)

    def _on_read(self, runs: list[Run]) -> None:
        self._runs = runs
        self.changed.emit()
