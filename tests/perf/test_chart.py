"""The pictures of the figures say what was measured, to scale, in the window's colours."""

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.perf import chart
from ui.theme import DARK, LIGHT

SVG = "{http://www.w3.org/2000/svg}"
RESULTS: dict[str, Any] = {
    "model": "tiny <model> & co",
    "prompt_tokens": 1_512,
    "new_tokens": 8,
    "streams": 1,
    "threads": 2,
    "contenders": [
        {
            "name": "engine int4",
            "is_peer": False,
            "rounds": 2,
            "prefill_tokens_per_s": 1_200.0,
            "decode_tokens_per_s": 90.0,
            "share_of_ceiling": {"prefill": 0.5, "decode": 0.75, "bandwidth": 0.6},
        },
        {
            "name": "llamacpp",
            "is_peer": True,
            "rounds": 2,
            "prefill_tokens_per_s": 300.0,
            "decode_tokens_per_s": 60.0,
            "share_of_ceiling": {},
        },
    ],
}


def picture(scheme: str = "light", results: dict[str, Any] = RESULTS) -> ET.Element:
    return ET.fromstring(chart.draw(results, "llamacpp", chart.SCHEMES[scheme]))


@pytest.mark.parametrize(("scheme", "theme"), [("light", LIGHT), ("dark", DARK)])
def test_the_colours_are_those_of_the_window(scheme: str, theme: Any) -> None:
    own = chart.SCHEMES[scheme]
    assert (own.ground, own.line, own.text, own.muted) == (
        theme.background, theme.line, theme.text, theme.muted,
    )  # fmt: skip
    assert (own.product, own.peer) == (theme.stage_prefill, theme.stage_queue)


def test_it_tells_everything_in_words_too() -> None:
    svg = picture()
    assert svg.get("role") == "img"
    assert svg.get("aria-labelledby") == "title desc"
    title, words = (svg.findtext(f"{SVG}{name}") for name in ("title", "desc"))
    assert title == "tiny <model> & co: decode and prefill"
    assert words is not None
    assert words.startswith("1,512 prompt tokens, 8 new, 1 stream, 2 threads.")
    assert (
        "Decode: Tokentide INT4 90.0, 1.50\u00d7, the machine allows 120; llama.cpp 60.0" in words
    )
    assert "Prefill: Tokentide INT4 1,200, 4.00\u00d7, the machine allows 2,400" in words


def test_bars_are_to_scale_and_end_before_the_figures() -> None:
    bars = [
        (float(box.get("x", 0)), float(box.get("width", 0)), box.get("fill"))
        for box in picture().findall(f"{SVG}rect")[1:]
    ]
    left, length = chart.MARGIN + chart.LABEL_WIDTH, 0.0
    length = chart.WIDTH - chart.MARGIN - chart.FIGURES_WIDTH - left
    decode, prefill = bars[:2], bars[2:]
    assert [width / length for _x, width, _fill in decode] == pytest.approx([0.75, 0.5], abs=1e-3)
    assert [width / length for _x, width, _fill in prefill] == pytest.approx(
        [0.5, 0.125], abs=1e-3
    )
    assert all(x == left for x, _width, _fill in bars)
    colour = chart.SCHEMES["light"].product
    assert [fill for *_place, fill in bars] == [colour, "url(#peer)"] * 2


def test_without_ceilings_none_is_drawn_nor_explained() -> None:
    rows = [{**row, "share_of_ceiling": {}} for row in RESULTS["contenders"]]
    svg = picture(results={**RESULTS, "contenders": rows})
    words = "".join(svg.itertext())
    assert "allows" not in words
    assert "allows" in "".join(picture().itertext())


def test_the_base_must_be_there() -> None:
    with pytest.raises(ValueError, match="vllm is not among engine int4, llamacpp"):
        chart.bars_of(RESULTS, "decode", "vllm")


def test_names() -> None:
    names = ("engine int8", "engine auto", "openvino", "another")
    shown = [chart.shown_name(name) for name in names]
    assert shown == ["Tokentide INT8", "Tokentide", "OpenVINO GenAI", "another"]


def test_one_command_writes_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "r.json").write_text(json.dumps(RESULTS))
    monkeypatch.setattr(
        sys, "argv", ["chart.py", str(tmp_path / "r.json"), "--out", str(tmp_path)]
    )
    chart.main()
    for scheme in ("light", "dark"):
        text = (tmp_path / f"speed-{scheme}.svg").read_text("utf-8")
        assert chart.SCHEMES[scheme].ground in text


def test_the_readme_shows_them() -> None:
    readme = (chart.ROOT / "README.md").read_text("utf-8")
    for scheme in ("light", "dark"):
        path = f"resources/screenshots/speed-{scheme}.svg"
        assert path in readme
        ET.parse(chart.ROOT / path)
