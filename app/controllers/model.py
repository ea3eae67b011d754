"""Which model answers: loading at start, by choice and again; what the window says of it."""

import logging
from pathlib import Path

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.failures import words_for
from app.controllers.services import Services
from engine.api import (
    LoadProgress,
    LoadStage,
    ModelFailed,
    ModelInfo,
    ModelOptions,
    ModelReady,
)
from engine.errors import LoadCancelledError
from ui.main_window import MainWindow
from ui.widgets.model_name import is_named_by_content, model_title
from ui.widgets.model_pill import ModelPillState

logger = logging.getLogger(__name__)


class ModelController(QObject):
    """The model's life as the window shows it.

    ``override`` is a model named on the command line: it is loaded in place of the settings' and
    not remembered. Each load ends with exactly one of ready and failed, so a count tells whether
    one is under way.
    """

    changed = Signal()
    chosen = Signal()  # the settings changed with the model
    notice = Signal(str)

    def __init__(
        self, window: MainWindow, services: Services, starter: Path, override: str | None = None
    ) -> None:
        super().__init__(window)
        self._window = window
        self._bridge = services.bridge
        self._settings = services.settings
        self._starter = starter
        self._override = override
        self._num_loads = 0
        self._asked: ModelOptions | None = None
        self._loaded: ModelOptions | None = None
        self.info: ModelInfo | None = None
        window.model_file_chosen.connect(self.choose)
        window.recent_model_chosen.connect(self.choose)
        window.reload_model_requested.connect(self.reload)
        window.unload_model_requested.connect(self._bridge.unload)
        window.load_cancel_requested.connect(self.cancel_load)
        self._bridge.load_progressed.connect(self._on_progress)
        self._bridge.model_ready.connect(self._on_ready)
        self._bridge.model_failed.connect(self._on_failed)
        self._bridge.model_unloaded.connect(self._on_unloaded)
        window.set_recent_models(self._settings.recent_entries())

    # ------------------------------------------------------------------ questions

    @property
    def is_loading(self) -> bool:
        """Whether a load is under way; messages sent now wait for it."""
        return self._num_loads > 0

    @property
    def name(self) -> str:
        """What writes the next answer; an empty string when nothing does."""
        if self._num_loads and self._asked is not None:
            return model_title(self._asked.path)
        return "" if self.info is None else model_title(self.info.path, self.info.name)

    @property
    def needs_reload(self) -> bool:
        """Whether the loaded model differs from what the settings say by now."""
        if self._loaded is None or self.is_loading:
            return False
        return self.wanted not in {None, self._loaded}

    @property
    def wanted(self) -> ModelOptions | None:
        """What a reload would load; None while no model is chosen."""
        path = self._wanted_path()
        return None if path is None else self._settings.model_options(path)

    @property
    def bytes_to_free(self) -> int:
        """What the loaded model gives back when another one takes its place."""
        return 0 if self.info is None else self.info.weights_bytes + self.info.kv_budget_bytes

    # ------------------------------------------------------------------ calls

    @Slot()
    def reload(self) -> None:
        """Load what the settings say; without any model, say that one is to be chosen."""
        if (options := self.wanted) is None:
            self._show(ModelPillState())
            return
        self._load(options)

    @Slot(str)
    def choose(self, path: str) -> None:
        """Load another model; it becomes the settings' model once it is loaded."""
        self._load(self._settings.model_options(path))

    @Slot()
    def cancel_load(self) -> None:
        """Give a load up; the model before it comes back."""
        if not self.is_loading:
            return
        if self._loaded is None:
            self._bridge.unload()
        else:
            self._load(self._loaded)

    # ------------------------------------------------------------------ inside

    def _wanted_path(self) -> str | None:
        if self._override is not None:
            return self._override
        if path := self._settings.text("model_path"):
            return path
        return str(self._starter) if self._starter.is_file() else None

    def _load(self, options: ModelOptions) -> None:
        self._num_loads += 1
        self._asked = options
        self._bridge.load(options)
        self._show(ModelPillState.loading(LoadProgress(options.path, LoadStage.STARTING, 0, 0)))

    @Slot(LoadProgress)
    def _on_progress(self, progress: LoadProgress) -> None:
        if self.is_loading:
            self._window.set_model_state(ModelPillState.loading(progress))

    @Slot(ModelReady)
    def _on_ready(self, event: ModelReady) -> None:
        self._num_loads -= 1
        self.info = event.info
        if self.is_loading:
            return
        self._loaded = self._asked
        logger.info("Model ready: %s, %s", event.info.path, event.info.precision)
        self._remember(event.info)
        self._show(ModelPillState.ready(event.info))

    def _remember(self, info: ModelInfo) -> None:
        path = info.path
        if path == self._wanted_path() and self._override is not None:
            return
        if path != self._wanted_path():
            self._override = None
            self._settings.set("model_path", path)
        self._settings.remember_model(path, info.name if is_named_by_content(path) else "")
        self._window.set_recent_models(self._settings.recent_entries())
        self.chosen.emit()

    @Slot(ModelFailed)
    def _on_failed(self, event: ModelFailed) -> None:
        self._num_loads -= 1
        self.info = event.kept
        if self.is_loading:
            return
        if event.kept is None:
            self._loaded = None
            self._show(ModelPillState.failed(event.path))
        else:
            self._show(ModelPillState.ready(event.kept))
        if event.failure.code != LoadCancelledError.code:  # whoever cancelled knows
            self.notice.emit(words_for(event.failure))

    @Slot()
    def _on_unloaded(self) -> None:
        self.info = None
        if self.is_loading:
            self.changed.emit()
            return
        self._loaded = None
        self._show(ModelPillState())

    def _show(self, state: ModelPillState) -> None:
        self._window.set_model_state(state)
        self.changed.emit()
