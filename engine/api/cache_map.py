"""Whose the blocks of the KV cache are, and what a conversation would take in other caches."""

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
    ``position``: tokens of the owners' texts before the first of them, None where it is not known;
    the blocks follow each other in the texts, too.
    """

    count: int
    state: BlockState
    owners: tuple[str, ...] = ()
    position: int | None = None


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


class CacheForm(StrEnum):
    """Ways of keeping the same text. The first four are values of ``KVPrecision``.

    ALL_HEADS: a key and a value of every head, as without grouped heads or compression. NO_WINDOW:
    all layers keep everything.
    """

    FP32 = "fp32"
    BF16 = "bf16"
    INT8 = "int8"
    INT4 = "int4"
    ALL_HEADS = "all_heads"
    NO_WINDOW = "no_window"


@dataclass(frozen=True, slots=True)
class CacheWay:
    """What the asked tokens take, kept in this way; ``is_present``: as they are kept now."""

    form: CacheForm
    num_bytes: int
    is_present: bool = False


@dataclass(frozen=True, slots=True)
class MapCache:
    """Command: tell whose the blocks are. CacheMapped follows.

    ``num_tokens``: of the text whose bytes are wanted for each way of keeping it.
    """

    ticket: int
    num_tokens: int = 0


@dataclass(frozen=True, slots=True)
class CacheMapped:
    """Event: the answer to MapCache; no groups while no model is loaded.

    ``ways``: those that suit the model, of the text that was asked about. ``is_complete`` False:
    whose some blocks are is still being worked out; the next answer knows more.
    """

    ticket: int
    groups: tuple[CacheGroup, ...]
    ways: tuple[CacheWay, ...] = ()
    is_complete: bool = True
