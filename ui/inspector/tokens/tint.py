"""The tint of answer tokens: one hue, stronger the less sure the model was; and its legend."""

from enum import StrEnum
from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QFontMetricsF, QLinearGradient, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget
from typing_extensions import override

from engine.api import InspectedToken
from ui.i18n import tr
from ui.theme import SMALL_FONT_PX, ThemeSource

MOST_BITS: Final = 8.0  # entropy from which the tint is full
STEPS: Final = 16
# of the hue over the ground, at most: text on it stays readable
_STRENGTH: Final = {"light": 0.85, "dark": 0.45}
_RAMP = (72, 10)


class TintBy(StrEnum):
    """What the tint shows."""

    PROBABILITY = "probability"
    ENTROPY = "entropy"


def doubt(token: InspectedToken, by: TintBy) -> float | None:
    """How strong a token's tint is, from 0 to 1; None for tokens without one."""
    if token.probability is None or token.entropy is None:
        return None
    if by is TintBy.PROBABILITY:
        return 1.0 - token.probability
    return min(1.0, token.entropy / MOST_BITS)


def ramp(themes: ThemeSource) -> list[QColor]:
    """The colours from no tint to the full one."""
    ground, hue = themes.color("surface"), themes.color("stage_decode")
    most = _STRENGTH[themes.theme.name]
    return [_mixed(ground, hue, most * step / STEPS) for step in range(STEPS + 1)]


class TintLegend(QWidget):
    """The ramp between what its two ends mean."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._by = TintBy.PROBABILITY
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self._on_theme)
        self.set_kind(TintBy.PROBABILITY)

    def set_kind(self, by: TintBy) -> None:
        """Say what the tint shows."""
        self._by = by
        self.setAccessibleName(
            tr(
                "Tint: from {low} to {high}, stronger for the latter",
                low=self._low,
                high=self._high,
            )
        )
        self._on_theme()

    @property
    def _low(self) -> str:
        return "100%" if self._by is TintBy.PROBABILITY else tr("{number} bits", number=0)

    @property
    def _high(self) -> str:
        if self._by is TintBy.PROBABILITY:
            return "0%"
        return tr("{number} bits", number=f"≥{MOST_BITS:.0f}")

    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self._themes.font(SMALL_FONT_PX))

    @override
    def sizeHint(self) -> QSize:
        metrics, px = self._metrics(), self._themes.px
        words = sum(map(metrics.horizontalAdvance, (self._low, self._high)))
        return QSize(int(words) + px(_RAMP[0]) + 2 * px(6) + 2, int(metrics.height()) + px(6))

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        themes, metrics, px = self._themes, self._metrics(), self._themes.px
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setFont(themes.font(SMALL_FONT_PX))
        painter.setPen(themes.color("muted"))
        base = (self.height() + metrics.ascent() - metrics.descent()) / 2
        painter.drawText(QPointF(0, base), self._low)
        left = metrics.horizontalAdvance(self._low) + px(6)
        box = QRectF(left, (self.height() - px(_RAMP[1])) / 2, px(_RAMP[0]), px(_RAMP[1]))
        painter.drawText(QPointF(box.right() + px(6), base), self._high)
        colors = ramp(themes)
        gradient = QLinearGradient(box.topLeft(), box.topRight())
        gradient.setColorAt(0, colors[0])
        gradient.setColorAt(1, colors[-1])
        painter.setPen(QPen(themes.color("line"), 1))
        painter.setBrush(gradient)
        painter.drawRoundedRect(box, px(3), px(3))
        painter.end()

    def _on_theme(self) -> None:
        self.updateGeometry()
        self.update()


def _mixed(ground: QColor, hue: QColor, share: float) -> QColor:
    values = (
        round(a + (b - a) * share)
        for a, b in zip(
            (ground.red(), ground.green(), ground.blue()),
            (hue.red(), hue.green(), hue.blue()),
            strict=True,
        )
    )
    return QColor(*values)
