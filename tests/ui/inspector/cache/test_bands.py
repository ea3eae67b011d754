"""Many bands as few."""

from engine.api import BlockState
from ui.inspector.cache.bands import Band, coarse
from ui.inspector.cache.picture import Owner

OWN, OTHER = Band(2, Owner.OWN, BlockState.LIVE), Band(1, Owner.OTHER, BlockState.LIVE)
FREE = Band(30, Owner.FREE, BlockState.FREE)


def test_each_part_looks_as_most_of_what_is_taken_in_it():
    assert coarse([OWN, OTHER, FREE], 10) == [
        Band(10, Owner.OWN, BlockState.LIVE),
        Band(10, Owner.FREE, BlockState.FREE),
        Band(10, Owner.FREE, BlockState.FREE),
        Band(3, Owner.FREE, BlockState.FREE),
    ]


def test_no_block_is_lost():
    assert sum(band.count for band in coarse([OWN, OTHER] * 7, 4)) == 21
    assert coarse([], 4) == []
