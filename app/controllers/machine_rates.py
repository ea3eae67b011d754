"""Measures what this machine can do, once, when somebody looks at figures that need it.

Predicted speeds and the time of a calibration come from ceilings measured here. They are kept by
the engine; where there are none yet, its ``roofline`` command measures them in some seconds, as a
program of its own with low priority.
"""

import logging

from PySide6.QtCore import QObject, Slot

from app.controllers.measurement import Measurement
from app.controllers.outlook import OutlookWatch

logger = logging.getLogger(__name__)


class MachineRates(QObject):
    """Watches the looks; one without a speed starts the measuring, whose end asks for another."""

    def __init__(self, measurement: Measurement, watch: OutlookWatch) -> None:
        super().__init__(watch)
        self._measurement = measurement
        self._watch = watch
        self._was_tried = False
        watch.changed.connect(self._on_look)
        watch.closing.connect(measurement.close)
        measurement.measured.connect(self._on_measured)
        measurement.failed.connect(self._on_failed)

    @Slot()
    def _on_look(self) -> None:
        outlook = self._watch.outlook
        if self._was_tried or outlook is None:
            return
        if all(line.decode_tokens_per_s is None for line in outlook.lines.values()):
            self._was_tried = (
                True  # once a run: a machine that cannot be measured stays unmeasured
            )
            self._measurement.start(["roofline", "--json"])

    @Slot(dict, float)
    def _on_measured(self, _result: dict[str, object], seconds: float) -> None:
        logger.info("Measured this machine's ceilings in %.1f s", seconds)
        self._watch.refresh()

    @Slot(str)
    def _on_failed(self, reason: str) -> None:
        logger.info("This machine's ceilings could not be measured: %s", reason)
