"""Whose a block is, and what follows from that, done by hand."""

from dataclasses import replace

import pytest

from engine.api import BlockRun, BlockState
from ui.inspector.cache.picture import CachePicture, Chat, Owner, Total, growth, owner_of, totals

MIB = 1 << 20


@pytest.mark.parametrize(
    ("run", "owner"),
    [
        (BlockRun(1, BlockState.LIVE, ("1",)), Owner.OWN),
        (BlockRun(1, BlockState.KEPT, ("1",)), Owner.OWN),
        (BlockRun(1, BlockState.LIVE, ("2",)), Owner.OTHER),
        (BlockRun(1, BlockState.LIVE, ("",)), Owner.EXPERIMENT),
        (BlockRun(1, BlockState.LIVE, ("1", "2")), Owner.SHARED),
        (BlockRun(1, BlockState.KEPT, ("2", "3")), Owner.SHARED),
        (BlockRun(1, BlockState.KEPT), Owner.KEPT),
        (BlockRun(1, BlockState.FREE), Owner.FREE),
    ],
)
def test_owners(run, owner):
    assert owner_of(run, "1") is owner


def test_a_chat_that_was_not_begun_owns_nothing():
    assert owner_of(BlockRun(1, BlockState.LIVE, ("",)), "") is Owner.EXPERIMENT


def test_totals_are_bytes_of_all_layers_and_tokens_of_the_first(picture, window):
    found = totals(replace(picture, groups=(*picture.groups, window)))
    assert found[Owner.OWN] == Total(12 * MIB, 160, 0)
    assert found[Owner.SHARED] == Total(4 * MIB, 64, 0)
    assert found[Owner.OTHER] == Total(6 * MIB, 96, 6 * MIB)
    assert found[Owner.KEPT] == Total(5 * MIB, 80, 5 * MIB)
    assert found[Owner.FREE] == Total(83 * MIB, 1_200, 0)


def test_limits(picture):
    assert picture.budget_bytes == 100 * MIB
    assert picture.limit_tokens == 1_600
    assert replace(picture, context_length=9_000).limit_tokens == 1_600
    assert replace(picture, context_length=900).limit_tokens == 900
    assert picture.bytes_per_token == MIB // 16


def test_turns_left(picture):
    assert picture.turns_left == (1_600 - 220) * 2 // 220
    assert replace(picture, chat=Chat("1", 220, 0)).turns_left is None
    assert replace(picture, chat=Chat("1", 2_000, 4)).turns_left == 0


def test_growth_is_straight_without_windows(picture):
    assert growth(picture) == [(0, 0), (1_600, 100 * MIB)]


def test_growth_bends_where_a_window_is_full(picture, window):
    both = replace(picture, groups=(*picture.groups, window))
    assert growth(both) == [
        (0, 0),
        (64, 4 * MIB + 2 * MIB),
        (1_600, 100 * MIB + 2 * MIB),
    ]


def test_windows_alone_are_limited_by_the_context(window):
    assert CachePicture((window,), context_length=4_096).limit_tokens == 4_096
