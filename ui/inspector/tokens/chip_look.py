"""How chips look: pens, grounds and sizes of one scheme and zoom, and the width of each piece.

All of it is made once, not for each chip.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from PySide6.QtCore import Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontMetricsF, QPen

from engine.api import InspectedToken, TokenOrigin
from ui.inspector.tokens.pieces import ends_line, shown_piece
from ui.inspector.tokens.tint import STEPS, TintBy, doubt, ramp
from ui.theme import SMALL_FONT_PX, ThemeSource

# what stands behind the tokens of a message; those of the template have an outline alone
_GROUNDS: Final = {
    TokenOrigin.SYSTEM: "code",
    TokenOrigin.USER: "bubble",
    TokenOrigin.ASSISTANT: "code",
    TokenOrigin.ANSWER: "surface",
}


@dataclass(frozen=True, slots=True)
class ChipLook:
    """``base``: from a chip's middle down to the line its text stands on.

    ``words``: the colour of text, of the messages' and of the template's.
    """

    font: QFont
    pad: float
    gap: float
    line: float
    radius: float
    base: float
    words: tuple[QColor, QColor]
    line_pen: QPen
    template: QPen
    special: QPen
    chosen: QPen
    pointed: QPen
    ring: QPen
    grounds: Mapping[TokenOrigin, QBrush]
    tints: Sequence[QBrush]

    @classmethod
    def of(cls, themes: ThemeSource) -> Self:
        """The look under a scheme and a zoom."""
        font = themes.code_font(SMALL_FONT_PX + 1)
        metrics = QFontMetricsF(font)
        template = QPen(themes.color("muted"), 1, Qt.PenStyle.DotLine)
        return cls(
            font=font,
            pad=themes.px(4),
            gap=themes.px(3),
            line=themes.px(24),
            radius=themes.px(3),
            base=(metrics.ascent() - metrics.descent()) / 2,
            words=(themes.color("text"), themes.color("muted")),
            line_pen=QPen(themes.color("line"), 1),
            template=template,
            special=QPen(themes.color("muted"), 1),
            chosen=QPen(themes.color("accent"), 2),
            pointed=QPen(themes.color("text"), 1),
            ring=QPen(themes.color("accent"), 1),
            grounds={o: QBrush(themes.color(name)) for o, name in _GROUNDS.items()},
            tints=[QBrush(color) for color in ramp(themes)],
        )

    def ground(self, token: InspectedToken, by: TintBy) -> QBrush:
        """What stands behind a token's text."""
        strength = doubt(token, by)
        if strength is not None:
            return self.tints[round(strength * STEPS)]
        return self.grounds.get(token.origin, QBrush())


class Measures:
    """The pieces of a run of tokens, their widths, and which of them end a line."""

    def __init__(self, look: ChipLook) -> None:
        self.pieces: list[str] = []
        self.widths: list[float] = []
        self.breaks: list[bool] = []
        self._metrics = QFontMetricsF(look.font)
        self._pad = 2 * look.pad
        self._known: dict[tuple[bytes, bool, int], tuple[str, float, bool]] = {}

    def extend(self, tokens: Sequence[InspectedToken], end: int) -> None:
        """Measure the tokens up to ``end``, each text that occurs once."""
        for token in tokens[len(self.pieces) : end]:
            key = (token.data, token.is_special, 0 if token.data else token.token_id)
            known = self._known.get(key)
            if known is None:
                piece = shown_piece(token)
                width = self._metrics.horizontalAdvance(piece) + self._pad
                known = self._known[key] = piece, width, ends_line(token)
            self.pieces.append(known[0])
            self.widths.append(known[1])
            self.breaks.append(known[2])
