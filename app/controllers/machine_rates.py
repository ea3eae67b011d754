"""Measures what this machine can do, once, when somebody looks at figures that need it, or on demand.

Predicted speeds and the time of a calibration come from ceilings measured here. They are kept by
the engine; where there are none yet, its ``roofline`` command measures them in some seconds, as a
program of its own with low priority.
"""

import logging

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.measurement import Measurement
from app.controllers.outlook import OutlookWatch

logger = logging.getLogger(__name__)


class MachineRates(QObject):
    """Watches the looks; one without a speed starts the measuring, whose end asks for another.

    ``changed``: measuring began or ended. ``problem``: why the last one failed, as ``Measurement``
    tells it; None where it did not.
    """

    changed = Signal()

    def __init__(self, measurement: Measurement, watch: OutlookWatch) -> None:
        super().__init__(watch)
        self._measurement = measurement
        self._watch = watch
        self._was_tried = False
        self.problem: str | None = None
        watch.changed.connect(self._on_look)
        watch.closing.connect(measurement.close)
        measurement.measured.connect(self._on_measured)
        measurement.failed.connect(self._on_failed)

    @property
    def is_measuring(self) -> bool:
        """Whether it is being measured now."""
        return self._measurement.is_running

    def measure(self, threads: int | None = None) -> None:
        """Measure now, for a model on as many threads; None: on all physical cores."""
        if self._measurement.is_running:
            return
        self._was_tried = True
        self.problem = None
        words = [] if threads is None else ["--threads", str(threads)]
        self._measurement.start(["roofline", "--json", *words])
        self.changed.emit()

    @Slot()
    def _on_look(self) -> None:
        outlook = self._watch.outlook
        # once a run: a machine that cannot be measured stays unmeasured
        if self._was_tried or outlook is None:
            return
        if all(line.decode_tokens_per_s is None for line in outlook.lines.values()):
            self.measure()

    @Slot(dict, float)
    def _on_measured(self, _result: dict[str, object], seconds: float) -> None:
        logger.info("Measured this machine's ceilings in %.1f s", seconds)
        self._watch.refresh()
        self.changed.emit()

    @Slot(str)
    def _on_failed(self, reason: str) -> None:
        logger.info("This machine's ceilings could not be measured: %s", reason)
        self.problem = reason
        self.changed.emit()
