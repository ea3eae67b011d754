"""Neighbouring blocks of one owner, and many of them as few."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.api import BlockState
from ui.inspector.cache.picture import Owner


@dataclass(frozen=True, slots=True)
class Band:
    """Neighbouring blocks of one owner."""

    count: int
    owner: Owner
    state: BlockState


def look_of(band: Band) -> tuple[Owner, BlockState]:
    """What it is painted by."""
    return band.owner, band.state


def coarse(bands: Iterable[Band], size: int) -> list[Band]:
    """The same blocks, so many at a time: each part looks as most of what is taken in it."""
    found: list[Band] = []
    tally: Counter[tuple[Owner, BlockState]] = Counter()
    for band in bands:
        left = band.count
        while left:
            here = min(left, size - tally.total())
            tally[look_of(band)] += here
            left -= here
            if tally.total() == size:
                found.append(_most_of(tally))
                tally.clear()
    return [*found, _most_of(tally)] if tally else found


def _most_of(tally: Counter[tuple[Owner, BlockState]]) -> Band:
    looks = [look for look, _count in tally.most_common() if look[0] is not Owner.FREE]
    owner, state = looks[0] if looks else (Owner.FREE, BlockState.FREE)
    return Band(tally.total(), owner, state)
