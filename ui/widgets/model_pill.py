"""The pill in the top bar: which model answers, or how far its load is.

Shows a ``ModelPillState``; its menu belongs to the window. The state is said in words as well as
by the dot.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QMenu, QSizePolicy, QWidget
from typing_extensions import override

from engine.api import LoadProgress, LoadStage, ModelInfo
from ui.i18n import mark, tr
from ui.icons import Icon, icon_pixmap
from ui.theme import BASE_FONT_PX, ThemeSource
from ui.widgets.model_name import model_title
from ui.widgets.precision_name import precision_title
from ui.widgets.units import count_short

HEIGHT = 32
SIDE = 16
DOT = 8
GAP = 10
CHEVRON = 12
MAX_WIDTH = 560


class PillStatus(StrEnum):
    """What there is to say about the model."""

    NONE = "none"
    LOADING = "loading"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ModelPillState:
    """What the pill shows. ``detail``: "INT4 · CPU · 8K"; ``stage`` with done of total: a load."""

    status: PillStatus = PillStatus.NONE
    name: str = ""
    detail: str = ""
    stage: LoadStage | None = None
    done: int = 0
    total: int = 0

    @classmethod
    def ready(cls, info: ModelInfo) -> "ModelPillState":
        """A loaded model."""
        parts = (
            precision_title(info),
            info.device.value.upper(),
            count_short(info.context_length),
        )
        return cls(PillStatus.READY, model_title(info.path, info.name), " · ".join(parts))

    @classmethod
    def loading(cls, progress: LoadProgress) -> "ModelPillState":
        """A load under way."""
        name = model_title(progress.path)
        return cls(PillStatus.LOADING, name, "", progress.stage, progress.done, progress.total)

    @classmethod
    def failed(cls, path: str) -> "ModelPillState":
        """A load that failed, with no model left."""
        return cls(PillStatus.FAILED, model_title(path))

    @property
    def progress(self) -> float | None:
        """Part of the present stage that is done, 0 to 1; None when not loading."""
        if self.status is not PillStatus.LOADING:
            return None
        return min(1.0, self.done / self.total) if self.total > 0 else 0.0

    def headline(self) -> str:
        """The strong words."""
        return self.name if self.status is not PillStatus.NONE else tr("Choose a model")

    def words(self) -> str:
        """The quiet words after the name: the state, in words."""
        match self.status:
            case PillStatus.NONE:
                return tr("none loaded")
            case PillStatus.LOADING:
                return self._loading_words()
            case PillStatus.FAILED:
                return tr("could not be loaded")
            case PillStatus.READY:
                return self.detail

    def spoken(self) -> str:
        """The whole state for a screen reader."""
        words = self.words()
        if self.status is PillStatus.READY:
            words = f"{tr('ready')}, {words}"
        return tr("Model: {name}, {state}", name=self.headline(), state=words)

    def _loading_words(self) -> str:
        stage = stage_words(self.stage or LoadStage.STARTING)
        part = self.progress
        return f"{stage} {part:.0%}" if part else stage


_STAGE_WORDS: Mapping[LoadStage, str] = {
    LoadStage.STARTING: mark("Starting the engine"),
    LoadStage.READING_HEADER: mark("Reading the file"),
    LoadStage.TOKENIZER: mark("Loading the tokenizer"),
    LoadStage.CALIBRATION: mark("Choosing better INT4 weights"),
    LoadStage.WEIGHTS: mark("Loading weights"),
    LoadStage.KV_CACHE: mark("Making room for the KV cache"),
    LoadStage.WARM_UP: mark("Warming up"),
}


def stage_words(stage: LoadStage) -> str:
    """What a load is doing."""
    return tr(_STAGE_WORDS[stage])


class ModelPill(QAbstractButton):
    """Dot, name, state and a chevron; a thin bar below while a model loads."""

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._state = ModelPillState()
        self._menu: QMenu | None = None
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.clicked.connect(self.open_menu)
        themes.changed.connect(self.updateGeometry)
        self.set_state(self._state)

    @property
    def state(self) -> ModelPillState:
        """What is shown."""
        return self._state

    def set_menu(self, menu: QMenu) -> None:
        """The menu that a click opens."""
        self._menu = menu

    def set_state(self, state: ModelPillState) -> None:
        """Show another state."""
        self._state = state
        self.setAccessibleName(state.spoken())
        self.setToolTip(state.spoken())
        self.updateGeometry()
        self.update()

    def open_menu(self) -> None:
        """Open the menu under the pill."""
        if self._menu is not None:
            self._menu.popup(self.mapToGlobal(QPoint(0, self.height() + 4)))

    @override
    def sizeHint(self) -> QSize:
        name, quiet = self._fonts()
        text = QFontMetrics(name).horizontalAdvance(self._state.headline())
        text += QFontMetrics(quiet).horizontalAdvance(self._state.words())
        px = self._themes.px
        width = text + px(DOT) + px(CHEVRON) + 3 * px(GAP) + 2 * px(SIDE) + 2
        return QSize(min(width, px(MAX_WIDTH)), px(HEIGHT))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(120), self._themes.px(HEIGHT))

    @override
    def paintEvent(self, e: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        self._paint_ground(painter)
        px = self._themes.px
        inside = self.rect().adjusted(px(SIDE), 0, -px(SIDE), 0)
        self._paint_dot(painter, inside)
        self._paint_chevron(painter, inside)
        left, right = px(DOT) + px(GAP), px(CHEVRON) + px(GAP)
        self._paint_words(painter, inside.adjusted(left, 0, -right, 0))
        self._paint_progress(painter)
        painter.end()

    def _fonts(self) -> tuple[QFont, QFont]:
        return (
            self._themes.font(BASE_FONT_PX, QFont.Weight.DemiBold),
            self._themes.font(BASE_FONT_PX),
        )

    def _paint_ground(self, painter: QPainter) -> None:
        is_hot = self.underMouse() or self.isDown()
        painter.setBrush(self._themes.color("hover" if is_hot else "surface"))
        painter.setPen(
            QPen(self._themes.color("accent"), 2)
            if self.hasFocus()
            else QPen(self._themes.color("line"), 1)
        )
        box = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.drawRoundedRect(box, box.height() / 2, box.height() / 2)

    def _paint_dot(self, painter: QPainter, inside: QRect) -> None:
        token = {
            PillStatus.NONE: "muted",
            PillStatus.LOADING: "stage_decode",
            PillStatus.READY: "ready",
            PillStatus.FAILED: "danger",
        }[self._state.status]
        size = self._themes.px(DOT)
        box = QRectF(inside.left(), (self.height() - size) / 2, size, size)
        if self._state.status is PillStatus.NONE:
            painter.setPen(QPen(self._themes.color(token), 1.5))
            painter.setBrush(Qt.BrushStyle.NoBrush)
        else:
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._themes.color(token))
        painter.drawEllipse(box)

    def _paint_chevron(self, painter: QPainter, inside: QRect) -> None:
        size = self._themes.px(CHEVRON)
        pixmap = icon_pixmap(
            Icon.CHEVRON_DOWN, self._themes.color("muted"), size, self.devicePixelRatioF()
        )
        painter.drawPixmap(inside.right() - size + 1, (self.height() - size) // 2, pixmap)

    def _paint_words(self, painter: QPainter, area: QRect) -> None:
        name_font, quiet_font = self._fonts()
        quiet, quiet_metrics = self._state.words(), QFontMetrics(quiet_font)
        name_metrics = QFontMetrics(name_font)
        gap = self._themes.px(GAP)
        # of a ready model the name matters most, of a load how far it is
        least = 3 * area.width() // (4 if self._state.status is PillStatus.READY else 15)
        room = max(least, area.width() - gap - quiet_metrics.horizontalAdvance(quiet))
        name = name_metrics.elidedText(self._state.headline(), Qt.TextElideMode.ElideMiddle, room)
        middle = Qt.AlignmentFlag.AlignVCenter
        painter.setFont(name_font)
        painter.setPen(self._themes.color("text"))
        painter.drawText(area, middle, name)
        rest = area.adjusted(name_metrics.horizontalAdvance(name) + gap, 0, 0, 0)
        painter.setFont(quiet_font)
        painter.setPen(self._themes.color("muted"))
        painter.drawText(
            rest,
            middle,
            quiet_metrics.elidedText(quiet, Qt.TextElideMode.ElideRight, rest.width()),
        )

    def _paint_progress(self, painter: QPainter) -> None:
        part = self._state.progress
        if part is None:
            return
        side = self._themes.px(SIDE)
        whole = QRectF(side, self.height() - 4, self.width() - 2 * side, 2)
        painter.fillRect(whole, self._themes.color("track"))
        whole.setWidth(whole.width() * part)
        painter.fillRect(whole, self._themes.color("accent"))
