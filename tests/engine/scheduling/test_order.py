"""Who goes first, and that everybody does some day."""

from engine.api import SamplingParams
from engine.metrics import Marks
from engine.scheduling.order import PATIENCE, level, quick_ones_first, rank
from engine.scheduling.request import Request
from tests.helpers.fake_runner import FakeText


def _request(name: str, arrival: int, length: int = 1, priority: int = 0) -> Request:
    request = Request.of_prompt(
        name,
        [0] * length,
        params=SamplingParams(),
        seed=0,
        text=FakeText(),
        marks=Marks(0, 0, 0),
    )
    request.arrival, request.priority = arrival, priority
    return request


def _names(requests: list[Request], chunk: int) -> str:
    return "".join(r.request_id for r in quick_ones_first(requests, chunk))


def test_priority_then_arrival() -> None:
    requests = [_request("a", 1), _request("b", 0), _request("c", 2, priority=1)]
    assert [r.request_id for r in sorted(requests, key=rank)] == ["c", "b", "a"]


def test_whoever_was_passed_over_long_enough_outranks_a_newcomer() -> None:
    old, new = _request("old", 0), _request("new", 1, priority=2)
    old.num_passed_over = 2 * PATIENCE - 1
    assert level(old) == 1
    assert rank(new) < rank(old)
    old.num_passed_over += 1
    assert rank(old) < rank(new)


def test_short_prompts_go_before_a_long_equal_within_half_a_chunk() -> None:
    long = _request("L", 0, length=900)
    short = [_request("a", 1, length=30), _request("b", 2, length=20), _request("c", 3, 40)]
    assert _names([long, *short], 128) == "baLc"
    assert _names([long, *short], 32) == "Labc"


def test_a_prompt_that_fits_beside_them_is_not_overtaken() -> None:
    first = _request("F", 0, length=60)
    assert _names([first, _request("a", 1, length=30)], 128) == "Fa"


def test_a_short_prompt_does_not_overtake_a_more_important_one() -> None:
    long = _request("L", 5, length=900, priority=1)
    assert _names([_request("a", 1, length=3), long], 128) == "La"
