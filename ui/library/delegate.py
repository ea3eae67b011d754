"""How a model is painted in a list: title and tag, a quiet second line, the verdict at the right.

Small paint steps over the model's roles; colours and sizes come from the theme.
"""

from typing import Any

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem
from typing_extensions import override

from engine.api import Fit
from ui.icons import icon_pixmap
from ui.library.model import Role
from ui.theme import BASE_FONT_PX, RADIUS_CONTROL, SMALL_FONT_PX, ThemeSource
from ui.widgets.fit import FIT_COLORS, FIT_ICONS

Index = QModelIndex | QPersistentModelIndex
_HEIGHT = 56
_SIDE = 12
_GAP = 8
_ICON = 14
_LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter


class ModelDelegate(QStyledItemDelegate):
    """Paints rows of both lists."""

    def __init__(self, themes: ThemeSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._themes = themes

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        # at least a width, so that a list never asks for its longest title
        return QSize(self._themes.px(120), self._themes.px(_HEIGHT))

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = _rect(option).adjusted(1, 1, -1, -1)
        self._paint_ground(painter, box, option)
        px = self._themes.px
        inside = box.adjusted(px(_SIDE), px(6), -px(_SIDE), -px(6))
        room = self._paint_verdict(painter, inside, index)
        inside.setRight(inside.right() - room)
        upper = QRect(inside.left(), inside.top(), inside.width(), inside.height() // 2)
        self._paint_title(painter, upper, index)
        lower = upper.translated(0, inside.height() // 2)
        self._write(painter, lower, str(index.data(Role.SUMMARY)), self._small(), "muted")
        painter.restore()

    def _paint_ground(self, painter: QPainter, box: QRect, option: QStyleOptionViewItem) -> None:
        state = _state(option)
        flag = QStyle.StateFlag
        radius = self._themes.px(RADIUS_CONTROL)
        if state & (flag.State_Selected | flag.State_MouseOver):
            token = "accent_soft" if state & flag.State_Selected else "hover"
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(self._themes.color(token))
            painter.drawRoundedRect(box, radius, radius)
        if state & flag.State_HasFocus and state & flag.State_KeyboardFocusChange:
            painter.setPen(QPen(self._themes.color("accent"), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(box, radius, radius)

    def _paint_verdict(self, painter: QPainter, inside: QRect, index: Index) -> int:
        """Paint it at the right; the width it takes."""
        fit, words = index.data(Role.FIT), str(index.data(Role.VERDICT) or "")
        if fit is None or not words:
            return 0
        px, font = self._themes.px, self._small()
        fit = Fit(fit)
        width = QFontMetrics(font).horizontalAdvance(words) + 2
        area = QRect(inside.right() - width + 1, inside.top(), width, inside.height())
        self._write(painter, area, words, font, FIT_COLORS[fit])
        ratio = 1.0 if painter.device() is None else painter.device().devicePixelRatioF()
        pixmap = icon_pixmap(FIT_ICONS[fit], self._themes.color(FIT_COLORS[fit]), px(_ICON), ratio)
        left = area.left() - px(_ICON) - px(4)
        painter.drawPixmap(left, inside.center().y() - px(_ICON) // 2 + 1, pixmap)
        return width + px(_ICON) + px(4) + px(_GAP)

    def _paint_title(self, painter: QPainter, area: QRect, index: Index) -> None:
        tag, small = str(index.data(Role.TAG) or ""), self._small()
        font = self._themes.font(BASE_FONT_PX, QFont.Weight.Medium)
        tag_width = (
            QFontMetrics(small).horizontalAdvance(tag) + self._themes.px(_GAP) if tag else 0
        )
        title = QFontMetrics(font).elidedText(
            str(index.data()), Qt.TextElideMode.ElideMiddle, max(0, area.width() - tag_width)
        )
        self._write(painter, area, title, font, "text")
        if tag:
            used = QFontMetrics(font).horizontalAdvance(title) + self._themes.px(_GAP)
            self._write(painter, area.adjusted(used, 0, 0, 0), tag, small, "accent")

    def _write(self, painter: QPainter, area: QRect, text: str, font: QFont, color: str) -> None:
        painter.setFont(font)
        painter.setPen(self._themes.color(color))
        shown = QFontMetrics(font).elidedText(text, Qt.TextElideMode.ElideRight, area.width())
        painter.drawText(area, _LEFT, shown)

    def _small(self) -> QFont:
        return self._themes.font(SMALL_FONT_PX)


# The stubs of QStyleOptionViewItem leave out the members of its bases.


def _rect(option: Any) -> QRect:
    return QRect(option.rect)


def _state(option: Any) -> QStyle.StateFlag:
    return QStyle.StateFlag(option.state)
