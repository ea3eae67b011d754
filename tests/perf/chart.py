"""Draws what ``compare.py --json`` kept, as the two pictures of the README's figures.

    python tests/perf/chart.py RESULTS.json [--out resources/screenshots] [--base llamacpp]

Writes speed-light.svg and speed-dark.svg: prefill and decode of each contender as bars, with the
tokens a second and how many times the base's they are; a thin line marks what this machine allows
the product (``python -m engine roofline``), where it was measured. The product's bars are filled,
its peers' are hatched, so that no colour is needed to tell them apart.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[2]
PANELS = (("Decode", "decode"), ("Prefill", "prefill"))
NAMES = {
    "llamacpp": "llama.cpp",
    "openvino": "OpenVINO GenAI",
    "vllm": "vLLM",
    "transformers": "transformers",
}
FONT = "system-ui, -apple-system, 'Segoe UI', 'Noto Sans', Helvetica, Arial, sans-serif"

WIDTH, MARGIN = 840, 28
LABEL_WIDTH, FIGURES_WIDTH = 140, 176  # names on the left, figures on the right of the bars
RATIO_WIDTH = 92  # of the figures
BAR, BETWEEN_BARS, BETWEEN_PANELS = 22, 8, 22
HEAD, PANEL_HEAD, FOOT = 76, 30, 50
TIMES = "\u00d7"


@dataclass(frozen=True, slots=True)
class Colours:
    """Of one scheme, as ``ui.theme`` has them: ground, frame, text, product and peers."""

    ground: str
    line: str
    text: str
    muted: str
    product: str
    peer: str


SCHEMES = {
    "light": Colours("#FAFAF8", "#E3E2DC", "#1B1C1A", "#6A6C67", "#0072B2", "#9AA0A6"),
    "dark": Colours("#16181A", "#2D3134", "#E7E8E4", "#9A9D99", "#3A9BDC", "#9AA0A6"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    """One contender in one panel. ``ratio``: times the base; ``ceiling``: tokens/s, 0 unknown."""

    name: str
    is_peer: bool
    per_s: float
    ratio: float
    ceiling: float

    @property
    def rate(self) -> str:
        """Tokens a second, in figures."""
        return f"{self.per_s:,.0f}" if self.per_s >= 1_000 else f"{self.per_s:,.1f}"


def shown_name(name: str) -> str:
    """How a contender is called in a picture."""
    kind, _, weights = name.partition(" ")
    if kind != "engine":
        return NAMES.get(name, name)
    return "Tokentide" if weights == "auto" else f"Tokentide {weights.upper()}"


def bars_of(results: Mapping[str, Any], rate: str, base: str) -> list[Bar]:
    """The bars of a panel, in the order of the results. Raises ValueError without the base."""
    rows = results["contenders"]
    key = f"{rate}_tokens_per_s"
    based = next((row for row in rows if row["name"] == base), None)
    if based is None:
        named = ", ".join(row["name"] for row in rows)
        raise ValueError(f"{base} is not among {named}")
    return [
        Bar(
            shown_name(row["name"]),
            row["is_peer"],
            row[key],
            row[key] / based[key],
            row[key] / share if (share := row["share_of_ceiling"].get(rate)) else 0.0,
        )
        for row in rows
    ]


def describe(results: Mapping[str, Any], panels: Mapping[str, Sequence[Bar]], base: str) -> str:
    """All that the picture shows, in words, for those who do not see it."""
    parts = [f"{_sizes(results)}. Tokens a second, and times {shown_name(base)}."]
    for heading, bars in panels.items():
        told = (
            f"{bar.name} {bar.rate}, {bar.ratio:.2f}{TIMES}"
            + (f", the machine allows {bar.ceiling:,.0f}" if bar.ceiling else "")
            for bar in bars
        )
        parts.append(f"{heading}: {'; '.join(told)}.")
    return " ".join(parts)


def draw(results: Mapping[str, Any], base: str, colours: Colours) -> str:
    """The picture, as SVG."""
    panels = {heading: bars_of(results, rate, base) for heading, rate in PANELS}
    panel_height = PANEL_HEAD + len(results["contenders"]) * (BAR + BETWEEN_BARS)
    height = HEAD + len(panels) * panel_height + (len(panels) - 1) * BETWEEN_PANELS + FOOT
    lines = [
        *_head(f"{results['model']}: decode and prefill", describe(results, panels, base), height),
        f'<pattern id="peer" width="6" height="6" patternUnits="userSpaceOnUse">{_hatch(colours)}',
        "</pattern>",
        _ground(height, colours),
        _text(MARGIN, 38, results["model"], colours.text, size=17, weight=600),
        _text(MARGIN, 58, _sizes(results), colours.muted, size=13),
    ]
    top = float(HEAD)
    for heading, bars in panels.items():
        lines += _panel(heading, bars, top, base, colours)
        top += panel_height + BETWEEN_PANELS
    has_ceilings = any(bar.ceiling for bars in panels.values() for bar in bars)
    lines += _legend(height - 24, colours, has_ceilings=has_ceilings)
    return "\n".join([*lines, "</svg>\n"])


def _head(title: str, description: str, height: float) -> list[str]:
    size = f'viewBox="0 0 {WIDTH} {height:g}" width="{WIDTH}" height="{height:g}"'
    role = 'role="img" aria-labelledby="title desc"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {role} font-family="{FONT}">',
        f'<title id="title">{escape(title)}</title>',
        f'<desc id="desc">{escape(description)}</desc>',
    ]


def _hatch(colours: Colours) -> str:
    return f'<path d="M-1 7 7-1M-1 1 1-1M5 7 7 5" stroke="{colours.peer}" stroke-width="1.4"/>'


def _ground(height: float, colours: Colours) -> str:
    size = f'width="{WIDTH - 1}" height="{height - 1:g}"'
    return f'<rect x=".5" y=".5" {size} rx="12" fill="{colours.ground}" stroke="{colours.line}"/>'


def _panel(
    heading: str, bars: Sequence[Bar], top: float, base: str, colours: Colours
) -> list[str]:
    """One panel, whose scale begins at nothing and ends with its longest bar or ceiling."""
    left, right = MARGIN + LABEL_WIDTH, WIDTH - MARGIN
    length = right - FIGURES_WIDTH - left
    most = max(max(bar.per_s, bar.ceiling) for bar in bars)
    columns = ((right - RATIO_WIDTH, "tokens/s"), (right, f"{TIMES} {shown_name(base)}"))
    parts = [_text(MARGIN, top + 18, heading, colours.text, size=14, weight=600)]
    parts += [
        _text(x, top + 18, name, colours.muted, size=12, anchor="end") for x, name in columns
    ]
    y = top + PANEL_HEAD
    for bar in bars:
        middle, weight = y + BAR / 2 + 4.5, 400 if bar.is_peer else 600
        width = max(1.0, bar.per_s / most * length)
        parts += [
            _text(MARGIN, middle, bar.name, colours.text, size=13, weight=weight),
            _box(left, y, width, is_peer=bar.is_peer, colours=colours),
        ]
        if bar.ceiling:
            parts.append(_ceiling(left + bar.ceiling / most * length, y - 3, BAR + 6, colours))
        figures = (bar.rate, f"{bar.ratio:.2f}")
        for (x, _name), figure in zip(columns, figures, strict=True):
            parts.append(
                _text(x, middle, figure, colours.text, size=13, weight=weight, anchor="end")
            )
        y += BAR + BETWEEN_BARS
    return parts


def _legend(y: float, colours: Colours, *, has_ceilings: bool) -> list[str]:
    items: list[tuple[str, str]] = [
        (_box(0, -10, 14, is_peer=False, colours=colours, height=12), "Tokentide"),
        (_box(0, -10, 14, is_peer=True, colours=colours, height=12), "others, in turn with it"),
    ]
    if has_ceilings:
        items.append((_ceiling(10, -12, 16, colours), "what this machine allows, as measured"))
    parts, x = [], float(MARGIN)
    for sample, words in items:
        parts.append(f'<g transform="translate({x:g} {y:g})">{sample}</g>')
        parts.append(_text(x + 22, y, words, colours.muted, size=12))
        x += 22 + 6 * len(words) + 30
    return parts


def _sizes(results: Mapping[str, Any]) -> str:
    streams, threads = results["streams"], results["threads"]
    return (
        f"{results['prompt_tokens']:,} prompt tokens, {results['new_tokens']:,} new, "
        f"{streams} {'stream' if streams == 1 else 'streams'}, "
        f"{threads} {'thread' if threads == 1 else 'threads'}"
    )


def _text(
    x: float,
    y: float,
    words: str,
    colour: str,
    *,
    size: int,
    weight: int = 400,
    anchor: str = "start",
) -> str:
    return (
        f'<text x="{x:g}" y="{y:g}" fill="{colour}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def _box(
    x: float, y: float, width: float, *, is_peer: bool, colours: Colours, height: float = BAR
) -> str:
    fill = "url(#peer)" if is_peer else colours.product
    edge = colours.peer if is_peer else colours.product
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:.1f}" height="{height:g}" rx="2" '
        f'fill="{fill}" stroke="{edge}"/>'
    )


def _ceiling(x: float, y: float, height: float, colours: Colours) -> str:
    return f'<path d="M{x:.1f} {y:g}v{height:g}" stroke="{colours.text}" stroke-width="1.5"/>'


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="what compare.py --json wrote")
    parser.add_argument("--out", type=Path, default=ROOT / "resources" / "screenshots")
    parser.add_argument("--base", default="llamacpp", help="whose speed counts as 1.00")
    options = parser.parse_args()
    results = json.loads(options.results.read_text("utf-8"))
    for scheme, colours in SCHEMES.items():
        picture = draw(results, options.base, colours)
        (options.out / f"speed-{scheme}.svg").write_text(picture, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
