"""When an answer ends, and for which of several reasons."""

import pytest

from engine.api import CacheMiss, FinishReason, MissKind, SamplingParams
from engine.metrics import Marks
from engine.scheduling.request import Request
from tests.helpers.fake_runner import FakeText


def _request(output: list[int], text: FakeText, **params: object) -> Request:
    request = Request.of_prompt(
        "a",
        [1, 2, 3],
        params=SamplingParams(**params),
        seed=0,
        text=text,
        marks=Marks(0, 0, 0),
    )
    request.known_ids += output
    return request


@pytest.mark.parametrize(
    ("output", "stopped", "params", "expected"),
    [
        ([4], False, {}, None),
        ([9], False, {}, FinishReason.END_OF_TEXT),
        ([9], False, {"ignore_eos": True}, None),
        ([4], True, {"max_tokens": 1, "stop": ("x",)}, FinishReason.STOP_STRING),
        ([4], True, {"max_tokens": 1}, FinishReason.END_OF_TEXT),  # at the template's own
        ([4, 5], False, {"max_tokens": 2}, FinishReason.MAX_TOKENS),
        ([4, 5, 6, 7, 8], False, {}, FinishReason.CONTEXT_FULL),
    ],
)
def test_finish_reason(
    output: list[int], stopped: bool, params: dict[str, object], expected: FinishReason | None
) -> None:
    request = _request(output, FakeText(stopped=stopped), **params)
    assert request.finish_reason(eos_ids=frozenset({9}), limit=8) is expected


def test_counts() -> None:
    request = _request([4, 5], FakeText())
    request.num_computed = 3
    assert (request.num_known, request.num_output, request.num_behind) == (5, 2, 2)
    assert request.timeline() is None


@pytest.mark.parametrize("kind", [MissKind.TEXT_CHANGED, MissKind.EVICTED])
def test_the_message_of_a_changed_text_is_asked_for_once_and_not_by_the_first_token(
    kind: MissKind,
) -> None:
    asked: list[int] = []

    def locate(position: int) -> tuple[str, int]:
        asked.append(position)
        return "user", 2

    request = _request([], FakeText())
    request.marks.prefill_start_ns = 0
    request.cache_miss, request.locate = CacheMiss(kind, 7, 9), locate
    found = []
    for token in (4, 5, 6):
        request.known_ids.append(token)
        request.marks.note_token(1, 2, 0)
        timeline = request.timeline()
        assert timeline is not None
        found.append(timeline.cache_miss)
    assert found[0] == CacheMiss(kind, 7, 9)
    is_text = kind is MissKind.TEXT_CHANGED
    assert found[1] == found[2] == (CacheMiss(kind, 7, 9, "user", 2) if is_text else found[0])
    assert asked == [7] * is_text
