"""Values are measured as trees, however they are shared."""

import pytest

from engine.text.deadline import RenderStopped
from engine.text.measure import ITEM, MAX_DEPTH, MAX_TOTAL, MAX_VALUE, Meter, tree_size


def nested(depth: int) -> list[object]:
    value: list[object] = []
    for _ in range(depth):
        value = [value]
    return value


def test_strings_count_their_characters_and_every_item_counts() -> None:
    assert tree_size("abc") == (ITEM + 3, 1)
    assert tree_size(["a", "b"]) == (3 * ITEM + 2, 2)
    assert tree_size({"a": 1})[1] == 2
    assert tree_size({"a": "b" * 100}.items())[0] > 100


def test_a_shared_value_counts_each_time() -> None:
    part = ["x" * 100]
    assert tree_size([part] * 10)[0] > 1_000


def test_doubling_is_caught_before_it_costs_anything() -> None:
    value: list[object] = ["x"]
    for _ in range(60):
        value = [value, value]
    with pytest.raises(RenderStopped):
        tree_size(value)


def test_depth_is_limited() -> None:
    tree_size(nested(MAX_DEPTH - 2))
    with pytest.raises(RenderStopped, match="deeply"):
        tree_size(nested(MAX_DEPTH + 2))


def test_the_meter_limits_one_value_and_the_sum() -> None:
    meter = Meter()
    assert meter.take("abc") == "abc"
    assert meter.take(None) is None
    with pytest.raises(RenderStopped, match="too large"):
        meter.add(MAX_VALUE + 1)
    meter.reset()
    for _ in range(MAX_TOTAL // MAX_VALUE):
        meter.add(MAX_VALUE)
    with pytest.raises(RenderStopped, match="too much"):
        meter.add(MAX_VALUE)
    meter.reset()
    meter.add(MAX_VALUE)
