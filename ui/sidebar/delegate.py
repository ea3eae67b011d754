"""How a row of the conversation list is painted and edited.

Small paint steps over the model's roles; colours come from the theme, sizes from the view's font,
so that zoom needs nothing here.
"""

from typing import Any

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, QRect, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics, QPainter, QPen
from PySide6.QtWidgets import (
    QLineEdit,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QWidget,
)
from typing_extensions import override

from ui.i18n import tr
from ui.sidebar.model import Role
from ui.theme import RADIUS_CONTROL, SMALL_FONT_PX, ThemeSource

Index = QModelIndex | QPersistentModelIndex

ROW_PADDING = 9
ROW_GAP = 4
TEXT_INSET = 10
HEADING_INSET = 8
HEADING_ABOVE = 14
HEADING_BELOW = 6
DOT = 7
TITLE_LIMIT = 200


class ConversationDelegate(QStyledItemDelegate):
    """Paints headings and conversations; edits a title in place."""

    def __init__(self, themes: ThemeSource, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._themes = themes

    @override
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        font, view_width = _option_font(option), _option_rect(option).width()
        if index.data(Role.IS_HEADING):
            height = QFontMetrics(self._small_font()).height() + self._themes.px(
                HEADING_ABOVE + HEADING_BELOW
            )
        else:
            height = QFontMetrics(font).height() + self._themes.px(2 * ROW_PADDING + ROW_GAP)
        return QSize(view_width, height)

    @override
    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if index.data(Role.IS_HEADING):
            self._paint_heading(painter, option, index)
        else:
            self._paint_ground(painter, option)
            self._paint_title(painter, option, index)
            if index.data(Role.IS_GENERATING):
                self._paint_dot(painter, option)
            self._paint_focus(painter, option)
        painter.restore()

    def _paint_heading(
        self, painter: QPainter, option: QStyleOptionViewItem, index: Index
    ) -> None:
        painter.setFont(self._small_font())
        painter.setPen(self._themes.color("muted"))
        area = _option_rect(option).adjusted(HEADING_INSET, 0, 0, -self._themes.px(HEADING_BELOW))
        flags = Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, flags, str(index.data()))

    def _paint_ground(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        state = _option_state(option)
        if state & QStyle.StateFlag.State_Selected:
            ground = "accent_soft"
        elif state & QStyle.StateFlag.State_MouseOver:
            ground = "hover"
        else:
            return
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._themes.color(ground))
        painter.drawRoundedRect(_box(option), RADIUS_CONTROL, RADIUS_CONTROL)

    def _paint_title(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        font = QFont(_option_font(option))
        if _option_state(option) & QStyle.StateFlag.State_Selected:
            font.setWeight(QFont.Weight.Medium)
        painter.setFont(font)
        painter.setPen(self._themes.color("text"))
        room_for_dot = DOT + 6 if index.data(Role.IS_GENERATING) else 0
        area = _box(option).adjusted(TEXT_INSET, 0, -TEXT_INSET - room_for_dot, 0)
        title = QFontMetrics(font).elidedText(
            str(index.data()).replace("\n", " "), Qt.TextElideMode.ElideRight, area.width()
        )
        flags = Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft
        painter.drawText(area, flags, title)

    def _paint_dot(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        box = _box(option)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(self._themes.color("accent"))
        left = box.right() - TEXT_INSET - DOT + 1
        painter.drawEllipse(left, box.center().y() - DOT // 2, DOT, DOT)

    def _paint_focus(self, painter: QPainter, option: QStyleOptionViewItem) -> None:
        wanted = QStyle.StateFlag.State_HasFocus | QStyle.StateFlag.State_KeyboardFocusChange
        if _option_state(option) & wanted != wanted:
            return
        painter.setPen(QPen(self._themes.color("accent"), 2))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(
            _box(option).adjusted(1, 1, -1, -1), RADIUS_CONTROL - 1, RADIUS_CONTROL - 1
        )

    def _small_font(self) -> QFont:
        return self._themes.font(SMALL_FONT_PX)

    @override
    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        editor = QLineEdit(parent)
        editor.setObjectName("renameEditor")
        editor.setMaxLength(TITLE_LIMIT)
        editor.setAccessibleName(tr("New title"))
        return editor

    @override
    def updateEditorGeometry(
        self, editor: QWidget, option: QStyleOptionViewItem, index: Index
    ) -> None:
        editor.setGeometry(_box(option))


# The stubs of QStyleOptionViewItem leave out the members of its bases.


def _option_rect(option: Any) -> QRect:
    return QRect(option.rect)


def _option_font(option: Any) -> QFont:
    return QFont(option.font)


def _option_state(option: Any) -> QStyle.StateFlag:
    return QStyle.StateFlag(option.state)


def _box(option: QStyleOptionViewItem) -> QRect:
    half = ROW_GAP // 2
    return _option_rect(option).adjusted(0, half, 0, -half)
