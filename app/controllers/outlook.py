"""What the chosen model would come to with the settings as they are, at every precision.

Asks the engine's planner in the task thread "catalog", and only while somebody looks at the
settings. One question at a time: what changes meanwhile is asked once, when the answer is there.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.library_services import Inspector
from app.controllers.model import ModelController
from app.quality.loss import model_key
from app.quality.weights import WEIGHTS
from app.tasks import Tasks
from engine.api import Foresight, ModelOptions, ModelSheet, Precision

PRECISIONS = tuple(dict.fromkeys(weights.precision for weights in WEIGHTS.values()))


@dataclass(frozen=True, slots=True)
class Outlook:
    """One look. ``key`` stands for the model's files, empty where they cannot be told."""

    options: ModelOptions
    sheet: ModelSheet
    lines: Mapping[Precision, Foresight]
    key: str = ""
    has_gpu: bool = False

    @property
    def chosen(self) -> Foresight:
        """The line of the precision that would be loaded."""
        wanted = self.options.weights
        return self.lines[self.sheet.default if wanted is Precision.AUTO else wanted]

    @property
    def waits_s(self) -> float | None:
        """How long the load would be busy choosing weights; None where it would not."""
        is_new = self.options.calibrated and not self.sheet.is_calibrated
        return self.sheet.calibration_s if is_new else None


def look(inspector: Inspector, options: ModelOptions, bytes_to_free: int) -> Outlook:
    """Read the model's header and plan for each precision. Raises EngineError."""
    sheet = inspector.sheet(options.path, bytes_to_free)
    lines = {
        precision: inspector.foresee(replace(options, weights=precision), bytes_to_free)
        for precision in PRECISIONS
    }
    return Outlook(options, sheet, lines, model_key(options.path), inspector.has_gpu())


class OutlookWatch(QObject):
    """Holds the last look. ``changed``: there is a new one, or none any more. ``closing``: no more.

    ``problem`` is why there is none, None without a model.
    """

    changed = Signal()
    closing = Signal()

    def __init__(
        self, model: ModelController, inspector: Inspector, tasks: Tasks, parent: QObject
    ) -> None:
        super().__init__(parent)
        self._model = model
        self._inspector = inspector
        self._tasks = tasks
        self._is_watched = False
        self._is_asking = False
        self._is_stale = True
        self.outlook: Outlook | None = None
        self.problem: Exception | None = None

    @Slot()
    def refresh(self) -> None:
        """What would be loaded, or the memory there is for it, has changed."""
        self._is_stale = True
        self._ask()

    def set_watched(self, *, watched: bool) -> None:
        """Say whether somebody looks."""
        self._is_watched = watched
        self._ask()

    def close(self) -> None:
        """Look no more."""
        self._is_watched = False
        self.closing.emit()

    def _ask(self) -> None:
        if not (self._is_watched and self._is_stale) or self._is_asking or self._model.is_loading:
            return
        self._is_stale = False
        options = self._model.wanted
        if options is None:
            self._take(None, None)
            return
        self._is_asking = True
        self._tasks.run(
            partial(look, self._inspector, options, self._model.bytes_to_free),
            self._on_look,
            self._on_error,
        )

    def _on_look(self, outlook: Outlook) -> None:
        self._is_asking = False
        self._take(outlook, None)

    def _on_error(self, error: Exception) -> None:
        self._is_asking = False
        self._take(None, error)

    def _take(self, outlook: Outlook | None, problem: Exception | None) -> None:
        self.outlook, self.problem = outlook, problem
        self.changed.emit()
        self._ask()
