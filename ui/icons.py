"""The product's own line icons, drawn in whatever colour the caller asks for.

Knows resources/icons (16 x 16 drawings whose stroke is ``currentColor``) and nothing of widgets.
"""

from enum import StrEnum

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from ui.theme import RESOURCES


class Icon(StrEnum):
    """Names of the drawings."""

    ARROW_DOWN = "arrow-down"
    ARROW_UP = "arrow-up"
    CHART = "chart"
    CHAT = "chat"
    CHECK = "check"
    CHEVRON_DOWN = "chevron-down"
    CHEVRON_LEFT = "chevron-left"
    CHEVRON_RIGHT = "chevron-right"
    CHEVRON_UP = "chevron-up"
    CLOSE = "close"
    COPY = "copy"
    FOLDER = "folder"
    GEAR = "gear"
    GUESSED = "guessed"
    INFO = "info"
    LINK = "link"
    LOCK = "lock"
    MORE = "more"
    PANEL = "panel"
    PENCIL = "pencil"
    PLAY = "play"
    PLUS = "plus"
    REFRESH = "refresh"
    SEARCH = "search"
    SIDEBAR = "sidebar"
    STAGES = "stages"
    STOP = "stop"
    TRASH = "trash"
    UNDO = "undo"
    WARNING = "warning"


def icon_pixmap(icon: Icon, color: QColor, size: int, pixel_ratio: float = 1.0) -> QPixmap:
    """Draw an icon ``size`` device-independent px wide for a screen of ``pixel_ratio``."""
    key = f"tokentide/{icon}/{color.name(QColor.NameFormat.HexArgb)}/{size}/{pixel_ratio}"
    pixmap = QPixmap()
    if QPixmapCache.find(key, pixmap):
        return pixmap
    drawing = (RESOURCES / "icons" / f"{icon}.svg").read_text(encoding="utf-8")
    renderer = QSvgRenderer(QByteArray(drawing.replace("currentColor", color.name()).encode()))
    side = round(size * pixel_ratio)
    pixmap = QPixmap(side, side)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    painter.setOpacity(color.alphaF())
    renderer.render(painter, QRectF(0, 0, side, side))
    painter.end()
    pixmap.setDevicePixelRatio(pixel_ratio)
    QPixmapCache.insert(key, pixmap)
    return pixmap


def make_icon(icon: Icon, color: QColor, size: int = 16) -> QIcon:
    """An icon for a standard button, sharp on screens of ratio 1, 2 and 3."""
    result = QIcon()
    for ratio in (1.0, 2.0, 3.0):
        result.addPixmap(icon_pixmap(icon, color, size, ratio))
    return result
