"""A cache of one kind of layers, and one of two, with every owner in it."""

import pytest

from engine.api import BlockRun, BlockState, CacheForm, CacheGroup, CacheWay, KeptBytes
from ui.inspector.cache.picture import CachePicture, Chat, WayUse
from ui.theme import ThemeSource

MIB = 1 << 20


@pytest.fixture
def themes():
    return ThemeSource()


@pytest.fixture
def full():
    """100 blocks of 16 tokens, 1 MiB each."""
    runs = (
        BlockRun(4, BlockState.LIVE, ("1", "2"), 0),
        BlockRun(10, BlockState.LIVE, ("1",), 64),
        BlockRun(6, BlockState.KEPT, ("2",), 64),
        BlockRun(5, BlockState.KEPT),
        BlockRun(75, BlockState.FREE),
    )
    return CacheGroup("full", 30, None, 16, MIB, runs)


@pytest.fixture
def window():
    """20 blocks of layers that see 64 tokens, half a MiB each."""
    runs = (BlockRun(4, BlockState.LIVE, ("1",), 160), BlockRun(16, BlockState.FREE))
    return CacheGroup("window", 15, 64, 16, MIB // 2, runs)


@pytest.fixture
def picture(full):
    ways = (
        WayUse(CacheWay(CacheForm.FP32, 56 * MIB), "fp32"),
        WayUse(CacheWay(CacheForm.INT8, 14 * MIB, is_present=True)),
        WayUse(CacheWay(CacheForm.INT4, 8 * MIB), "int4", is_chosen=True),
        WayUse(CacheWay(CacheForm.ALL_HEADS, 42 * MIB)),
    )
    return CachePicture(
        groups=(full,),
        chat=Chat("1", 220, 2),
        titles={"1": "The tides", "2": "A kraken of the northern sea, and its teeth"},
        kinds=(KeptBytes("full", 30, 14 * MIB, 13 * MIB),),
        ways=ways,
        context_length=1_600,
        dtype="int8",
    )
