"""Rings of a request: what they hold after any history of steps, finished, repeated, taken back."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from engine.kv.compressed_state import CacheStateError, RequestState, StagedRows, TailShape

SHAPES = (TailShape(2, 5, 3), TailShape(1, 8, 2))


def rows_of(tokens: range, shape: TailShape) -> torch.Tensor:
    """Rows that say whose they are: [layers, n, width]."""
    numbers = torch.tensor(list(tokens), dtype=torch.float32)
    return numbers.view(1, -1, 1).expand(shape.layers, -1, shape.width)


def stage(state: RequestState, context: int, end: int) -> None:
    tails = tuple(rows_of(range(max(context, end - s.capacity), end), s) for s in SHAPES)
    state.stage(StagedRows(context, end, tails))


def assert_holds(state: RequestState, length: int) -> None:
    for kind, shape in enumerate(SHAPES):
        first = max(0, length - shape.capacity)
        for layer in range(shape.layers):
            tail = torch.cat(state.tail(kind, layer, first))
            expected = rows_of(range(first, length), shape)[layer]
            assert torch.equal(tail, expected)


def new_state() -> RequestState:
    return RequestState(SHAPES, torch.float32, torch.device("cpu"))


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 20), st.booleans()), max_size=12))
def test_any_history_of_steps(history):
    """Each step: its length, how many of its tokens count, whether it is given up once before."""
    state, length = new_state(), 0
    for step, counted, is_repeated in history:
        state.settle(length)
        assert_holds(state, length)
        if is_repeated:  # given up after it was finished, for example by a failing sampler
            stage(state, length, length + step + 3)
            state.settle(length)
            assert_holds(state, length)
        stage(state, length, length + step)
        # a part of a chunk counts only where drafts were verified, which are few
        length += min(step, counted) if step <= min(s.capacity for s in SHAPES) else step
    state.settle(length)
    assert_holds(state, length)


def test_a_new_request_begins_anew():
    state = new_state()
    state.settle(0)
    stage(state, 0, 7)
    state.settle(7)
    state.settle(0)
    stage(state, 0, 2)
    state.settle(2)
    assert_holds(state, 2)


def test_steps_that_do_not_follow():
    state = new_state()
    state.settle(0)
    with pytest.raises(CacheStateError, match="not at 3"):
        state.settle(3)
    stage(state, 0, 4)
    with pytest.raises(CacheStateError, match="not at 5"):
        state.settle(5)


def test_a_part_of_a_long_chunk_was_not_kept():
    state = new_state()
    state.settle(0)
    stage(state, 0, 20)
    with pytest.raises(CacheStateError, match="were not kept"):
        state.settle(11)


def test_bytes():
    state = new_state()
    assert state.nbytes == (2 * 5 * 3 + 8 * 2) * 4
    assert state.staged_bytes == 0
    stage(state, 0, 1)
    assert state.staged_bytes == (2 * 3 + 2) * 4
