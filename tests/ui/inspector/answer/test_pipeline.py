"""Lanes to scale, and what is under the pointer."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF

from engine.api import ChunkTime
from tests.helpers.observations import MS, make_timeline
from ui.inspector.answer.lanes import pipeline_of
from ui.inspector.answer.pipeline import PipelineLanes
from ui.theme import ThemeSource

LINE = make_timeline(queue=50, prefill=100, decode=1_000, prompt=100)


@pytest.fixture
def lanes(qtbot):
    made = PipelineLanes(ThemeSource())
    qtbot.addWidget(made)
    made.set_pipeline(pipeline_of(LINE))
    made.resize(400, made.sizeHint().height())
    made.show()
    return made


def box_of(lanes, name, number=0):
    for place, lane in enumerate(lanes._lanes()):
        if lane.name == name:
            return lanes.box(place, lane.spans[number])
    return None


def test_boxes_are_to_scale_and_short_ones_are_seen(lanes):
    decode, prefill, sample = (
        box_of(lanes, name) for name in ("decode", "prefill", "first_sample")
    )
    assert decode.width() == pytest.approx(10 * prefill.width(), rel=0.02)
    assert sample.width() == 3.0
    assert decode.left() == pytest.approx(prefill.right() + lanes._left() * 0, abs=3)
    assert box_of(lanes, "detokenize").right() <= lanes.width()


def test_zooming_to_the_first_token_makes_what_led_to_it_large(lanes):
    before = box_of(lanes, "prefill").width()
    lanes.set_start_only(is_start_only=True)
    assert lanes.shown_ns == LINE.ttft_ns
    assert box_of(lanes, "prefill").width() > 5 * before
    assert box_of(lanes, "detokenize") is None


def test_the_pointer_finds_a_stage_and_a_chunk_in_it(lanes):
    chunks = (ChunkTime(52 * MS, 102 * MS, 0, 50), ChunkTime(102 * MS, 152 * MS, 50, 50))
    lanes.set_pipeline(pipeline_of(LINE, chunks))
    decode = box_of(lanes, "decode").center()
    assert lanes.piece_at(decode).lines[0] == "decode: 1,000.00 ms"
    prefill = box_of(lanes, "prefill")
    second = QPointF(prefill.right() - 1, prefill.center().y())
    assert lanes.piece_at(second).lines[0] == "chunk 2 of 2: 50.00 ms"
    assert lanes.piece_at(QPointF(2, prefill.center().y())).lines[0] == "prefill: 100.00 ms"
    assert lanes.piece_at(QPointF(10, 10_000)) is None


def test_a_lane_is_added_with_the_first_paint(lanes):
    before = lanes.sizeHint().height()
    lanes.set_pipeline(pipeline_of(replace(LINE, first_paint_ns=LINE.first_token_ns + MS)))
    assert lanes.sizeHint().height() > before
    lanes.grab()
    assert "decode took" in lanes.accessibleDescription()


def test_an_empty_picture_can_be_painted(qtbot):
    empty = PipelineLanes(ThemeSource())
    qtbot.addWidget(empty)
    empty.grab()
    assert empty.piece_at(QPointF(1, 1)) is None
