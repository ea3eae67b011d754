"""The planner's verdict beside the reload bar: what loading with the new settings would take."""

from dataclasses import dataclass

from PySide6.QtCore import Qt
from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from engine.api import Fit
from ui.icons import icon_pixmap
from ui.theme import ThemeSource, set_look
from ui.widgets.fit import FIT_COLORS, FIT_ICONS

_ICON = 14


@dataclass(frozen=True, slots=True)
class Forecast:
    """``text``: the verdict with its figures. ``wait``: what will take long, and how long.

    ``fit`` None: it is being worked out.
    """

    fit: Fit | None
    text: str
    detail: str = ""
    wait: str = ""


class ForecastLine(QWidget):
    """Hidden without a forecast."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._forecast: Forecast | None = None
        self._icon = QLabel(self)
        self._text = QLabel(self)
        self._wait = QLabel(self)
        set_look(self._wait, "small")
        for label in (self._text, self._wait):
            label.setWordWrap(True)
            label.setTextFormat(Qt.TextFormat.PlainText)
        words = QVBoxLayout()
        words.setSpacing(4)
        words.addWidget(self._text)
        words.addWidget(self._wait)
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(12, 0, 8, 8)
        self._row.setSpacing(8)
        self._row.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignTop)
        self._row.addLayout(words, 1)
        themes.changed.connect(self._dress)
        self.hide()

    @property
    def text(self) -> str:
        """What is said; empty while nothing is."""
        return "" if self._forecast is None else self._text.text()

    @property
    def wait(self) -> str:
        """What will take long; empty where nothing will."""
        return "" if self._forecast is None else self._wait.text()

    def set_forecast(self, forecast: Forecast | None) -> None:
        """Say what a load would come to, or nothing."""
        self._forecast = forecast
        self.setVisible(forecast is not None)
        if forecast is None:
            return
        self._text.setText(forecast.text)
        self._wait.setText(forecast.wait)
        self._wait.setVisible(bool(forecast.wait))
        self.setToolTip(forecast.detail)
        self.setAccessibleName(forecast.text)
        self.setAccessibleDescription(forecast.detail)
        self._dress()

    def _dress(self) -> None:
        if self._forecast is None:
            return
        fit, size = self._forecast.fit, self._themes.px(_ICON)
        if fit is None:
            set_look(self._text, "small")
            room = QPixmap(size, size)
            room.fill(Qt.GlobalColor.transparent)
            self._icon.setPixmap(room)
            return
        set_look(self._text, "danger-small" if fit is Fit.TOO_LARGE else "fact")
        color = self._themes.color(FIT_COLORS[fit])
        self._icon.setPixmap(icon_pixmap(FIT_ICONS[fit], color, size, self.devicePixelRatioF()))
