"""Measures what the precisions of a model lose, one after another, and keeps what was measured.

The measuring itself is a program of its own. Each result is kept at once, so that cancelling
loses only the one that is under way.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.measurement import Measurement
from app.quality.loss import Loss, LossBook, loss_of
from app.tasks import Tasks

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A model to measure. ``key`` stands for its files as they are now."""

    path: str
    key: str
    num_parameters: int


@dataclass(frozen=True, slots=True)
class Measuring:
    """How far it is: ``weights`` is being measured, number ``number`` of ``count``."""

    weights: str
    number: int
    count: int
    part: float = 0.0


@dataclass(frozen=True, slots=True)
class MeasuringFailure:
    """``weights`` could not be measured; ``reason`` as ``Measurement`` tells it, or empty."""

    weights: str
    reason: str


class LossMeter(QObject):
    """``changed``: there is more to know, or it is further. ``finished(weights)``: one is done."""

    changed = Signal()
    finished = Signal(str)
    save_failed = Signal(Exception)

    def __init__(
        self,
        measurement: Measurement,
        arguments: Callable[[str, str], list[str]],
        tasks: Tasks,
        place: Path,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._measurement = measurement
        self._arguments = arguments
        self._tasks = tasks
        self._place = place
        self._book = LossBook()
        self._was_read = False
        self._wanted: Wanted | None = None
        self._waiting: list[str] = []
        self.measuring: Measuring | None = None
        self.failure: MeasuringFailure | None = None
        measurement.progressed.connect(self._on_progress)
        measurement.measured.connect(self._on_measured)
        measurement.failed.connect(self._on_failed)

    # ------------------------------------------------------------------ questions

    def known(self, key: str) -> Mapping[str, Loss]:
        """What was measured of a model, by weights."""
        return self._book.of_model(key)

    def all(self) -> list[Loss]:
        """Every measurement of every model."""
        return self._book.all()

    # ------------------------------------------------------------------ calls

    def read(self) -> None:
        """Read what earlier runs measured, once."""
        if not self._was_read:
            self._was_read = True
            self._tasks.run(partial(LossBook.read, self._place), self._on_book)

    def measure(self, wanted: Wanted, weights: Sequence[str]) -> None:
        """Measure these one after another, unless something is being measured already."""
        if self.measuring is None and weights:
            self.failure = None
            self._wanted = wanted
            self._waiting = list(weights[1:])
            self._start(Measuring(weights[0], 1, len(weights)))

    def keep(self, key: str, weights: str, loss: Loss) -> None:
        """Keep a measurement of a model, whoever made it."""
        self._book.add(key, weights, loss)
        self._tasks.run(
            partial(self._book.copy().write, self._place), on_error=self.save_failed.emit
        )
        self.changed.emit()

    def cancel(self) -> None:
        """Stop measuring; what is measured stays."""
        self._measurement.cancel()
        self.measuring = None
        self.changed.emit()

    def close(self) -> None:
        """Stop measuring for good."""
        self.measuring = None
        self._measurement.close()

    # ------------------------------------------------------------------ inside

    def _start(self, measuring: Measuring) -> None:
        assert self._wanted is not None
        self.measuring = measuring
        self._measurement.start(self._arguments(self._wanted.path, measuring.weights))
        self.changed.emit()

    def _on_book(self, book: LossBook) -> None:
        self._book = book
        self.changed.emit()

    @Slot(float)
    def _on_progress(self, part: float) -> None:
        if (now := self.measuring) is not None:
            self.measuring = Measuring(now.weights, now.number, now.count, part)
            self.changed.emit()

    @Slot(dict, float)
    def _on_measured(self, result: dict[str, object], seconds: float) -> None:
        if self.measuring is None or self._wanted is None:
            return
        loss = loss_of(result, seconds, self._wanted.num_parameters)
        if loss is None:
            self._on_failed("")
            return
        weights = self.measuring.weights
        self.keep(self._wanted.key, weights, loss)
        self._go_on()
        self.finished.emit(weights)

    @Slot(str)
    def _on_failed(self, reason: str) -> None:
        if self.measuring is None:
            return
        logger.info("Measuring %s failed: %s", self.measuring.weights, reason)
        self.failure = MeasuringFailure(self.measuring.weights, reason)
        self._go_on()

    def _go_on(self) -> None:
        now, self.measuring = self.measuring, None
        if now is not None and self._waiting:
            self._start(Measuring(self._waiting.pop(0), now.number + 1, now.count))
        else:
            self.changed.emit()
