"""Whose the blocks of the KV cache are."""

from dataclasses import dataclass
from enum import StrEnum


class BlockState(StrEnum):
    """LIVE: an answer under way has it. KEPT: of an ended one, for prefix hits. FREE."""

    LIVE = "live"
    KEPT = "kept"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class BlockRun:
    """``count`` neighbouring blocks with the same owners.

    ``owners``: ids of the conversations that use them ("" for requests of none); several: shared.
    """

    count: int
    state: BlockState
    owners: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CacheGroup:
    """The pool of one kind of layers: ``kind`` is full, window or compressed.

    ``window`` tokens are seen by a layer (None: all). ``runs`` in the order of the pool.
    """

    kind: str
    layers: int
    window: int | None
    block_size: int
    block_bytes: int
    runs: tuple[BlockRun, ...]


@dataclass(frozen=True, slots=True)
class MapCache:
    """Command: tell whose the blocks are. CacheMapped follows."""

    ticket: int


@dataclass(frozen=True, slots=True)
class CacheMapped:
    """Event: the answer to MapCache; no groups while no model is loaded."""

    ticket: int
    groups: tuple[CacheGroup, ...]
