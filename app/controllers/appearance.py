"""Colours and zoom of the whole window, by the settings and the system's own scheme."""

from PySide6.QtCore import QObject, Slot
from PySide6.QtWidgets import QApplication

from app.settings.values import Settings
from ui.theme import (
    DARK,
    LIGHT,
    Theme,
    ThemeSource,
    apply_ground,
    apply_theme,
    system_theme,
)


class Appearance(QObject):
    """Keeps the application's look as the settings want it.

    ``scheme`` ("light" or "dark") from the command line wins over the setting for this run.
    The style sheet waits for ``apply``: while a window is put together, Qt would work out the style
    of every widget again with each change of its parents.
    """

    def __init__(self, app: QApplication, settings: Settings, scheme: str | None = None) -> None:
        super().__init__(app)
        self._app = app
        self._settings = settings
        self._scheme = scheme
        self.themes = ThemeSource(parent=self)
        app.styleHints().colorSchemeChanged.connect(self.apply)
        theme, zoom = self._theme(), self._settings.number("zoom")
        apply_ground(app, theme, zoom)
        self.themes.set(theme, zoom)

    @Slot()
    def apply(self) -> None:
        """Take up the settings in force."""
        theme, zoom = self._theme(), self._settings.number("zoom")
        apply_theme(self._app, theme, zoom)
        self.themes.set(theme, zoom)

    def choose_scheme(self) -> None:
        """The user chose a scheme in the window: the command line's counts no longer."""
        self._scheme = None
        self.apply()

    def _theme(self) -> Theme:
        match self._scheme or self._settings.text("scheme"):
            case "light":
                return LIGHT
            case "dark":
                return DARK
            case _:
                return system_theme(self._app)
