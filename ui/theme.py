"""Colours, metrics and the style sheet: one place for how everything looks.

Widgets take colours from ``Theme`` (custom painting) or from the style sheet
(resources/style.qss) by the dynamic property ``look``; no widget names a colour itself. Whoever
paints or measures holds the window's one ``ThemeSource`` and listens to its ``changed``.
"""

import re
import string
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QFontInfo, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory, QWidget

SchemeName = Literal["light", "dark"]
RESOURCES = Path(__file__).resolve().parent.parent / "resources"


@dataclass(frozen=True, slots=True)
class Theme:
    """The colours of one scheme as #RRGGBB. Every text colour has 4.5:1 on its ground."""

    name: SchemeName
    background: str
    surface: str
    sidebar: str
    text: str
    muted: str
    line: str
    accent: str
    on_accent: str
    accent_soft: str
    bubble: str
    code: str
    hover: str
    danger: str
    ready: str
    stage_queue: str
    stage_load: str
    stage_tokenize: str
    stage_prefill: str
    stage_decode: str
    stage_paint: str
    track: str


LIGHT = Theme(
    name="light",
    background="#FAFAF8",
    surface="#FFFFFF",
    sidebar="#F2F2EE",
    text="#1B1C1A",
    muted="#6A6C67",
    line="#E3E2DC",
    accent="#0B7285",
    on_accent="#FFFFFF",
    accent_soft="#E2F1F3",
    bubble="#EAF3F4",
    code="#F5F5F1",
    hover="#E9E9E4",
    danger="#B3261E",
    ready="#2F9E6B",
    stage_queue="#9AA0A6",
    stage_load="#C9A227",
    stage_tokenize="#56B4E9",
    stage_prefill="#0072B2",
    stage_decode="#E69F00",
    stage_paint="#CC79A7",
    track="#E3E2DC",
)

DARK = Theme(
    name="dark",
    background="#16181A",
    surface="#1E2124",
    sidebar="#111314",
    text="#E7E8E4",
    muted="#9A9D99",
    line="#2D3134",
    accent="#56BFD0",
    on_accent="#0C1416",
    accent_soft="#173338",
    bubble="#22343A",
    code="#121416",
    hover="#1C1F21",
    danger="#F2857D",
    ready="#3FB27F",
    stage_queue="#9AA0A6",
    stage_load="#D8B94A",
    stage_tokenize="#56B4E9",
    stage_prefill="#3A9BDC",
    stage_decode="#E69F00",
    stage_paint="#CC79A7",
    track="#2D3134",
)

# One grid: 4 px steps.
RADIUS_CONTROL = 8
RADIUS_CARD = 12
RADIUS_COMPOSER = 14
SIDEBAR_WIDTH = 244
PANEL_WIDTH = 300
TEXT_COLUMN_MAX = 720
BASE_FONT_PX = 14
SMALL_FONT_PX = 12
LARGE_NUMBER_PX = 26
CODE_FONT_PX = 13
LINE_HEIGHT = 1.55

MIN_ZOOM, MAX_ZOOM = 0.75, 2.5
_PIXELS = re.compile(r"(\d+)px")
_CJK_FALLBACK = {"darwin": "PingFang SC", "win32": "Microsoft YaHei UI"}


class ThemeSource(QObject):
    """The scheme and zoom in force; ``changed`` follows every change of either."""

    changed = Signal()

    def __init__(
        self, theme: Theme = LIGHT, zoom: float = 1.0, parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._theme = theme
        self._zoom = zoom
        self._fonts: dict[tuple[str, float, int], QFont] = {}

    @property
    def theme(self) -> Theme:
        """The colours in force."""
        return self._theme

    @property
    def zoom(self) -> float:
        """The factor on every size, 1.0 for 100%."""
        return self._zoom

    def set(self, theme: Theme, zoom: float) -> None:
        """Change the scheme, the zoom (limited to 75%..250%) or both."""
        zoom = min(MAX_ZOOM, max(MIN_ZOOM, zoom))
        if (theme, zoom) != (self._theme, self._zoom):
            self._theme, self._zoom = theme, zoom
            self._fonts.clear()
            self.changed.emit()

    def px(self, size: float) -> int:
        """Scale a size of the drawings to device-independent pixels; hairlines stay 1."""
        return max(1, round(size * self._zoom))

    def color(self, token: str, alpha: int = 255) -> QColor:
        """The colour of a theme token, such as "muted"."""
        color = QColor(getattr(self._theme, token))
        color.setAlpha(alpha)
        return color

    def font(self, size: float = BASE_FONT_PX, weight: int = QFont.Weight.Normal) -> QFont:
        """The interface face at ``size`` px, scaled, with tabular figures."""
        known = self._fonts.get(("ui", size, weight))
        if known is None:
            known = QFont(ui_font())
            known.setPixelSize(self.px(size))
            known.setWeight(QFont.Weight(weight))
            known.setFeature(QFont.Tag("tnum"), 1)
            self._fonts["ui", size, weight] = known
        return QFont(known)

    def code_font(self, size: float = CODE_FONT_PX) -> QFont:
        """The system's monospace face at ``size`` px, scaled."""
        known = self._fonts.get(("code", size, 0))
        if known is None:
            known = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
            known.setFamilies([_real_family(known), _cjk_family()])
            known.setFixedPitch(True)
            known.setPixelSize(self.px(size))
            self._fonts["code", size, 0] = known
        return QFont(known)


def _cjk_family() -> str:
    return _CJK_FALLBACK.get(sys.platform, "Noto Sans CJK SC")


def _real_family(font: QFont) -> str:
    """What an alias such as "monospace" stands for; in a list of families it would be lost."""
    return QFontInfo(font).family()


def ui_font() -> QFont:
    """The system's interface face (Inter where a Linux system has it), Chinese as fallback."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    family = _real_family(font)
    if sys.platform == "linux" and "Inter" in QFontDatabase.families():
        family = "Inter"
    font.setFamilies([family, _cjk_family()])
    return font


def system_theme(app: QApplication) -> Theme:
    """The scheme that the desktop asks for."""
    is_dark = app.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return DARK if is_dark else LIGHT


def style_sheet(theme: Theme, zoom: float = 1.0) -> str:
    """Fill resources/style.qss with the theme's colours and scale its pixels (1px stays)."""
    template = (RESOURCES / "style.qss").read_text(encoding="utf-8")
    values: dict[str, str] = dict(asdict(theme))
    values["icons"] = (RESOURCES / "icons").as_posix()
    sheet = string.Template(template).substitute(values)

    def scaled(match: re.Match[str]) -> str:
        size = int(match[1])
        return f"{size if size <= 1 else round(size * zoom)}px"

    return _PIXELS.sub(scaled, sheet)


def palette_of(theme: Theme) -> QPalette:
    """The palette behind the style sheet, for what Qt paints by itself."""
    palette = QPalette()
    role = QPalette.ColorRole
    colors = {
        role.Window: theme.background,
        role.WindowText: theme.text,
        role.Base: theme.surface,
        role.AlternateBase: theme.sidebar,
        role.Text: theme.text,
        role.Button: theme.surface,
        role.ButtonText: theme.text,
        role.BrightText: theme.danger,
        role.ToolTipBase: theme.surface,
        role.ToolTipText: theme.text,
        role.PlaceholderText: theme.muted,
        role.Highlight: theme.accent,
        role.HighlightedText: theme.on_accent,
        role.Link: theme.accent,
        role.LinkVisited: theme.accent,
        role.Accent: theme.accent,
        role.Light: theme.line,
        role.Midlight: theme.line,
        role.Mid: theme.line,
        role.Dark: theme.line,
        role.Shadow: theme.line,
    }
    for key, value in colors.items():
        palette.setColor(key, QColor(value))
    for key in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, key, QColor(theme.muted))
    return palette


def apply_ground(app: QApplication, theme: Theme, zoom: float = 1.0) -> None:
    """What everything stands on: Fusion, palette and font; no style sheet yet."""
    if app.style().name().lower() != "fusion":
        app.setStyle(QStyleFactory.create("Fusion"))
    font = ui_font()
    font.setPixelSize(round(BASE_FONT_PX * zoom))
    app.setPalette(palette_of(theme))
    app.setFont(font)


def apply_theme(app: QApplication, theme: Theme, zoom: float = 1.0) -> None:
    """Dress the whole application: Fusion, palette, font and style sheet."""
    apply_ground(app, theme, zoom)
    app.setStyleSheet(style_sheet(theme, zoom))


def set_look(widget: QWidget, look: str) -> None:
    """Give a widget one of the style sheet's looks, before or after it is shown."""
    if widget.property("look") == look:
        return
    widget.setProperty("look", look)
    if not widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):
        return  # it will be, before it is measured or shown
    style = widget.style()
    style.unpolish(widget)
    style.polish(widget)
