"""The settings page, the settings file, and what each change sets off."""

from collections.abc import Mapping
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.controllers.appearance import Appearance
from app.controllers.model import ModelController
from app.controllers.services import Services
from app.settings.declared import FIELDS, SHOWN_SECTIONS
from app.settings.values import write_settings
from engine.api import ModelOptions
from ui.i18n import tr
from ui.main_window import MainWindow
from ui.settings.fields import SettingValue
from ui.settings.panel import SettingsPanel


class SettingsController(QObject):
    """Takes changes in, keeps them on disk, and applies those that apply at once."""

    notice = Signal(str)
    changed = Signal()  # what the next load would use

    def __init__(
        self,
        window: MainWindow,
        panel: SettingsPanel,
        model: ModelController,
        appearance: Appearance,
        services: Services,
    ) -> None:
        super().__init__(panel)
        self._window = window
        self._panel = panel
        self._model = model
        self._appearance = appearance
        self._services = services
        self._before_reset: Mapping[str, SettingValue] = {}
        window.notice_action.connect(self._on_undo)
        panel.changed.connect(self._on_changed)
        panel.reload_requested.connect(model.reload)
        panel.model_file_chosen.connect(model.choose)
        panel.reset_requested.connect(self._on_reset)
        window.zoom_changed.connect(self._on_zoom)
        model.changed.connect(self._on_model_changed)
        model.chosen.connect(self._on_model_chosen)
        panel.set_values(services.settings.values())

    @Slot()
    def save(self) -> None:
        """Put all settings on disk, off the GUI thread."""
        services = self._services
        files = services.settings_path, services.secrets_path
        services.tasks.run(
            partial(write_settings, *files, services.settings.snapshot()),
            on_error=self._on_save_failed,
        )

    @property
    def weights(self) -> str:
        """How the next load would keep the weights."""
        return self._services.settings.text("weights")

    @property
    def waiting(self) -> ModelOptions | None:
        """What a reload would load; None where none is needed."""
        return self._model.wanted if self._model.needs_reload else None

    def change(self, key: str, value: SettingValue) -> None:
        """Take a value that was chosen elsewhere than in the setting's own row."""
        self._panel.set_value(key, value)
        self._on_changed(key, value)

    @Slot(str, object)
    def _on_changed(self, key: str, value: SettingValue) -> None:
        self._services.settings.set(key, value)
        self.save()
        match FIELDS[key].applies, key:
            case "reload", _:
                self._show_reload()
            case _, "scheme":
                self._appearance.choose_scheme()
            case _, "zoom":
                self._appearance.apply()
            case _, "language":
                self.notice.emit(tr("The language changes when the app starts again."))
            case _:
                pass  # the next answer reads the settings itself

    @Slot(float)
    def _on_zoom(self, zoom: float) -> None:
        self.change("zoom", zoom)

    @Slot()
    def _on_reset(self) -> None:
        fields = [field for section in SHOWN_SECTIONS for field in section.fields]
        self._before_reset = {f.key: self._services.settings[f.key] for f in fields}
        self._take({field.key: field.default for field in fields})
        self._window.show_notice(tr("All settings are at their defaults."), tr("Undo"))

    @Slot()
    def _on_undo(self) -> None:
        self._take(self._before_reset)
        self._window.hide_notice()

    def _take(self, values: Mapping[str, SettingValue]) -> None:
        for key, value in values.items():
            self._services.settings.set(key, value)
        self._panel.set_values(self._services.settings.values())
        self._show_reload()
        self._appearance.choose_scheme()
        self.save()

    def _show_reload(self) -> None:
        self._panel.set_reload_needed(self._model.needs_reload)
        self.changed.emit()

    @Slot()
    def _on_model_changed(self) -> None:
        info = self._model.info
        self._panel.set_model_info(info)
        if info is not None:
            self._panel.suggest({"context_length": info.context_length, "threads": info.threads})
        self._show_reload()

    @Slot()
    def _on_model_chosen(self) -> None:
        self._panel.set_value("model_path", self._services.settings["model_path"])
        self.save()

    def _on_save_failed(self, error: Exception) -> None:
        self.notice.emit(
            tr(
                "The settings could not be saved ({reason}); they apply until the app is closed.",
                reason=str(error),
            )
        )

    def close(self) -> None:
        """Remember the window's shape."""
        self._services.settings.set("window_layout", self._window.save_layout())
        self.save()
