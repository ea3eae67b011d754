"""Colours, metrics and the style sheet: one place for how everything looks.

Widgets take colours from ``Theme`` (custom painting) or from the style sheet by object name and
dynamic property; no widget names a colour itself.
"""

from dataclasses import dataclass
from typing import Literal

SchemeName = Literal["light", "dark"]


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
