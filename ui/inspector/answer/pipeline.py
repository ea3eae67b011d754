"""The lanes of an answer, painted to scale over one axis.

What lasts less than a pixel is widened so that it is seen and can be pointed at; how long it was
stands in the list beside it.
"""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetricsF, QHelpEvent, QMouseEvent, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QToolTip, QWidget
from typing_extensions import override

from ui.charts.figures import Kind
from ui.charts.quantities import scale_for
from ui.charts.spans import Span, ticks_of
from ui.inspector.answer.lanes import Lane, Piece, Pipeline
from ui.theme import SMALL_FONT_PX, ThemeSource

_LANE = 20
_BAR = 12
_LEAST = 3.0
_GAP = 8
_MOST_LABEL = 0.42  # of the width
_REACH = 3.0  # how near a box the pointer must come


class PipelineLanes(QWidget):
    """``pointed``: the lane under the pointer, -1 for none."""

    pointed = Signal(int)

    def __init__(self, themes: ThemeSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._themes = themes
        self._pipeline: Pipeline | None = None
        self._is_start_only = False
        self._current = -1
        self.setMouseTracking(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        themes.changed.connect(self.updateGeometry)

    def set_pipeline(self, pipeline: Pipeline) -> None:
        """Show this answer."""
        if pipeline == self._pipeline:
            return
        before, self._pipeline = self._pipeline, pipeline
        self.setAccessibleDescription(pipeline.sentence)
        if before is None or len(before.lanes) != len(pipeline.lanes):
            self.updateGeometry()
        self.update()

    def set_start_only(self, *, is_start_only: bool) -> None:
        """Show the time to the first token alone, or the whole answer."""
        self._is_start_only = is_start_only
        self.update()

    def set_current(self, lane: int) -> None:
        """Set off one lane, as the list's chosen row; -1 for none."""
        if lane != self._current:
            self._current = lane
            self.update()

    # ------------------------------------------------------------------ where things are

    @property
    def shown_ns(self) -> int:
        """How much time the axis covers."""
        pipeline = self._pipeline
        if pipeline is None:
            return 1
        return pipeline.first_ns if self._is_start_only else pipeline.total_ns

    def _lanes(self) -> tuple[Lane, ...]:
        return () if self._pipeline is None else self._pipeline.lanes

    def _metrics(self) -> QFontMetricsF:
        return QFontMetricsF(self._themes.font(SMALL_FONT_PX))

    def _lane_height(self) -> float:
        return max(self._themes.px(_LANE), self._metrics().height() + 2)

    def _left(self) -> float:
        metrics = self._metrics()
        labels = [metrics.horizontalAdvance(lane.label) for lane in self._lanes()]
        widest = min(max(labels, default=0.0), _MOST_LABEL * self.width())
        return widest + self._themes.px(_GAP)

    def box(self, lane: int, piece: Piece) -> QRectF | None:
        """Where a piece is painted; None where it begins behind the axis' end."""
        left, shown = self._left(), self.shown_ns
        if piece.start_ns >= shown and self._is_start_only:
            return None
        room = max(1.0, self.width() - left - 1)
        start = left + room * piece.start_ns / shown
        length = min(piece.duration_ns, shown - piece.start_ns)
        width = max(_LEAST, room * length / shown)
        start = min(start, self.width() - 1 - width)
        height = self._themes.px(_BAR)
        top = lane * self._lane_height() + (self._lane_height() - height) / 2
        return QRectF(start, top, width, height)

    def piece_at(self, place: QPointF) -> Piece | None:
        """What is under a point: a part before the stage it belongs to."""
        number = int(place.y() // self._lane_height())
        if not 0 <= number < len(self._lanes()):
            return None
        lane = self._lanes()[number]
        for piece in (*lane.pieces, *lane.spans):
            box = self.box(number, piece)
            if box is not None and box.left() - _REACH <= place.x() <= box.right() + _REACH:
                return piece
        return lane.spans[0] if place.x() < self._left() else None

    # ------------------------------------------------------------------ the widget

    @override
    def sizeHint(self) -> QSize:
        axis = self._metrics().height() + self._themes.px(6)
        height = len(self._lanes()) * self._lane_height() + axis
        return QSize(self._themes.px(260), round(height))

    @override
    def minimumSizeHint(self) -> QSize:
        return QSize(self._themes.px(120), self.sizeHint().height())

    @override
    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setFont(self._themes.font(SMALL_FONT_PX))
        left, height = self._left(), self._lane_height()
        bottom = len(self._lanes()) * height
        self._paint_axis(painter, left, bottom)
        for number, lane in enumerate(self._lanes()):
            top = number * height
            if number == self._current:
                band = QRectF(0, top, self.width(), height)
                painter.fillRect(band, self._themes.color("accent_soft"))
            self._paint_label(painter, lane, QRectF(0, top, left - self._themes.px(_GAP), height))
            self._paint_lane(painter, number, lane)
        painter.end()

    def _paint_label(self, painter: QPainter, lane: Lane, room: QRectF) -> None:
        painter.setPen(self._themes.color("text"))
        elided = self._metrics().elidedText(
            lane.label, Qt.TextElideMode.ElideRight, room.width() + 1
        )
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, elided)

    def _paint_lane(self, painter: QPainter, number: int, lane: Lane) -> None:
        is_parted = len(lane.pieces) > 1
        for span in lane.spans:
            if (box := self.box(number, span)) is not None and span.duration_ns > 0:
                color = self._themes.color(lane.token, alpha=90 if is_parted else 255)
                painter.fillRect(box, color)
        for piece in lane.pieces if is_parted else ():
            if (box := self.box(number, piece)) is not None:
                # one pixel of ground tells neighbours apart without colour
                box.setWidth(max(1.0, box.width() - 1))
                painter.fillRect(box, self._themes.color(lane.token))

    def _paint_axis(self, painter: QPainter, left: float, bottom: float) -> None:
        shown_ms = self.shown_ns / 1e6
        scale = scale_for(Kind.DURATION, shown_ms)
        metrics = self._metrics()
        room = max(1.0, self.width() - left - 1)
        most = max(2, int(room / max(40.0, metrics.horizontalAdvance("0,000 ms"))))
        painter.setPen(QPen(self._themes.color("line"), 1))
        painter.drawLine(QPointF(left, bottom), QPointF(self.width() - 1, bottom))
        base = bottom + self._themes.px(3) + metrics.ascent()
        for tick in ticks_of(Span(0.0, shown_ms), most, scale.divisor):
            x = left + room * tick / shown_ms
            painter.setPen(QPen(self._themes.color("line"), 1))
            painter.drawLine(QPointF(x, 0), QPointF(x, bottom + 2))
            words = f"{scale.number(tick)} {scale.unit}"
            width = metrics.horizontalAdvance(words)
            place = max(left, min(x - width / 2, self.width() - width))
            painter.setPen(self._themes.color("muted"))
            painter.drawText(QPointF(place, base), words)

    @override
    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and event.type() == QEvent.Type.ToolTip:
            piece = self.piece_at(QPointF(event.pos()))
            if piece is None:
                QToolTip.hideText()
            else:
                QToolTip.showText(event.globalPos(), "\n".join(piece.lines), self)
            return True
        return super().event(event)

    @override
    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        number = int(event.position().y() // self._lane_height())
        self.pointed.emit(number if 0 <= number < len(self._lanes()) else -1)
        super().mouseMoveEvent(event)

    @override
    def leaveEvent(self, event: QEvent) -> None:
        self.pointed.emit(-1)
        super().leaveEvent(event)
