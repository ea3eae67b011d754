"""When an answer ends, and for which of several reasons."""

import pytest

from engine.api import FinishReason, SamplingParams
from engine.metrics import Marks
from engine.scheduling.request import Request
from tests.helpers.fake_runner import FakeText


def _request(output: list[int], text: FakeText, **params: int | bool) -> Request:
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
        ([4], True, {"max_tokens": 1}, FinishReason.STOP_STRING),
        ([4, 5], False, {"max_tokens": 2}, FinishReason.MAX_TOKENS),
        ([4, 5, 6, 7, 8], False, {}, FinishReason.CONTEXT_FULL),
    ],
)
def test_finish_reason(
    output: list[int], stopped: bool, params: dict[str, int], expected: FinishReason | None
) -> None:
    request = _request(output, FakeText(stopped=stopped), **params)
    assert request.finish_reason(eos_ids=frozenset({9}), limit=8) is expected


def test_counts() -> None:
    request = _request([4, 5], FakeText())
    request.num_computed = 3
    assert (request.num_known, request.num_output, request.num_behind) == (5, 2, 2)
    assert request.timeline() is None
