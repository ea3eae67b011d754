"""What a KV cache holds: how many values a token leaves behind, in which layers, for how long.

One idea for every kind of attention: a *track* keeps an entry of ``width`` values for each
``stride`` tokens, at most ``capacity`` of them, and a new token attends to at most ``read``::

    kind                 width                  stride  capacity  read
    full (MHA, GQA, MQA) 2 x kv heads x head    1       -         -
    sliding window       2 x kv heads x head    1       window    -
    MLA                  latent + rotary key    1       -         - (top-k with an indexer)
    indexer of V3.2      index head             1       -         -
    CSA                  head (K is V)          4       -         top-k
    indexer of CSA       index head             4       -         -
    HCA                  head                   128     -         -
    ring of CSA and HCA  head                   1       window    -

Knows no file format and no torch. Two published figures hold it in place, both at 1,048,576
tokens in bf16. V3.2: 61 layers x (512 + 64 + 128) values x 2 bytes = 85,888 bytes a token,
83.9 GiB. V4-Pro: 61 layers, of which the first two are HCA and CSA and HCA take turns from the
third on: 30 CSA and 31 HCA. A CSA layer adds (512 + 128) x 2 / 4 = 320 bytes a token, an HCA one
512 x 2 / 128 = 8: 30 x 320 + 31 x 8 = 9,848 bytes a token or 9.617 GiB, and every layer's ring of
128 tokens together 7.6 MiB: 9.62 GiB.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from engine.api import KVPrecision
from engine.config import KVFormat
from engine.kv.group import SLACK

BLOCK_TOKENS = 16
CHUNK_TOKENS = 512  # the default token budget of one step
# A cache keeps room for one more window with each so many windows of full layers: for as many
# conversations of that length as those hold.
_WINDOWS_APART = 8
_FORMATS = {
    KVPrecision.FP32: KVFormat.FLOAT32,
    KVPrecision.BF16: KVFormat.BFLOAT16,
    KVPrecision.INT8: KVFormat.INT8,
    KVPrecision.INT4: KVFormat.INT4,
}


def kv_bits(precision: KVPrecision) -> int:
    """Bits of one value, scales apart. ``precision`` is not AUTO."""
    return _FORMATS[precision].code_bytes(8)


@dataclass(frozen=True, slots=True)
class CacheTrack:
    """One kind of entry, kept alike in ``layers`` layers.

    ``vectors``: separately scaled vectors an entry divides into when it is quantised.
    ``flops``: multiplications and additions a new token spends on one entry it attends to.
    ``is_paged``: keys and values as ``engine.kv.storage`` pages them. ``is_kept``: what the window
    has left behind is kept all the same. ``where``: the layers, if it is known which.
    """

    layers: int
    width: int
    vectors: int = 1
    stride: int = 1
    capacity: int | None = None
    read: int | None = None
    flops: int = 0
    is_paged: bool = False
    is_kept: bool = False
    where: tuple[int, ...] = field(default=(), compare=False)

    def entries(self, context: int) -> int:
        """Entries of one layer after ``context`` tokens; an unfinished group has none."""
        count = context // self.stride
        return count if self.capacity is None else min(count, self.capacity)

    def attended(self, context: int) -> int:
        """Entries of one layer that the next token looks at."""
        count = self.entries(context)
        return count if self.read is None else min(count, self.read)

    def entry_bytes(self, precision: KVPrecision) -> int:
        """Bytes of one entry in one layer, with its scales."""
        return self.vectors * _FORMATS[precision].vector_bytes(self.width // self.vectors)


def cache_bytes(tracks: Iterable[CacheTrack], context: int, precision: KVPrecision) -> int:
    """Bytes one stream's cache takes after ``context`` tokens."""
    return sum(t.layers * t.entries(context) * t.entry_bytes(precision) for t in tracks)


@dataclass(frozen=True, slots=True)
class Pool:
    """What a cache is laid out for: ``tokens``, whole blocks, of requests of up to ``context``.

    ``chunk``: the most tokens of one step.
    """

    tokens: int
    context: int
    chunk: int = CHUNK_TOKENS

    @classmethod
    def of_context(cls, context: int) -> "Pool":
        """For one request."""
        return cls(whole_blocks(context), context)

    def window_blocks(self, window: int | None) -> int | None:
        """Blocks of layers that see the last ``window`` tokens; None: they keep every token.

        One that belongs to nobody; a window, where it begins inside a block and with one more
        before it, and a chunk; and room for the windows of others, which are computed meanwhile or
        kept for prefix hits. See ``engine.kv.group``.
        """
        if window is None or window >= self.context:
            return None
        whole = self.tokens // BLOCK_TOKENS
        most = -(-(window - 1 + min(self.chunk, self.context)) // BLOCK_TOKENS) + 1 + SLACK
        if most >= whole:
            return None  # every token is in the window or in the step
        count = max(-(-self.tokens // self.context), self.tokens // (_WINDOWS_APART * window))
        another = _held_blocks(window) + 1
        return 1 + min(whole, most + (count - 1) * another)


def allocated_track_bytes(track: CacheTrack, pool: Pool, precision: KVPrecision) -> int:
    """Bytes the engine sets aside in one layer of ``track``."""
    tokens = whole_blocks(pool.tokens)
    if track.is_paged:
        window = None if track.is_kept else track.capacity
        blocks = pool.window_blocks(window)
        tokens = tokens if blocks is None else blocks * BLOCK_TOKENS
        track = replace(track, capacity=None)
    return track.entries(tokens) * track.entry_bytes(precision)


def allocated_cache_bytes(tracks: Iterable[CacheTrack], pool: Pool, precision: KVPrecision) -> int:
    """Bytes the engine sets aside: whole blocks, and of windows no more than ``pool`` asks for."""
    return sum(t.layers * allocated_track_bytes(t, pool, precision) for t in tracks)


def held_cache_bytes(tracks: Iterable[CacheTrack], tokens: int, precision: KVPrecision) -> int:
    """Bytes of the blocks that one text holds, windows having given back what they left behind."""
    return sum(t.layers * _held_track_bytes(t, tokens, precision) for t in tracks)


def _held_track_bytes(track: CacheTrack, tokens: int, precision: KVPrecision) -> int:
    held = whole_blocks(tokens)
    if track.is_paged:
        if track.capacity is not None and not track.is_kept:
            held = min(held, _held_blocks(track.capacity) * BLOCK_TOKENS)
        track = replace(track, capacity=None)
    return track.entries(held) * track.entry_bytes(precision)


def _held_blocks(window: int) -> int:
    """Blocks of a window between two steps: it may begin inside one, and some before it are kept."""
    return -(-(window - 1) // BLOCK_TOKENS) + 1 + SLACK


def layer_cache_bytes(
    tracks: Iterable[CacheTrack], num_layers: int, pool: Pool, precision: KVPrecision
) -> list[int]:
    """The same for each layer; what belongs to no one layer is spread evenly."""
    layers = [0] * num_layers
    spread = 0
    for track in tracks:
        size = allocated_track_bytes(track, pool, precision)
        if not track.where:
            spread += track.layers * size
        for layer in track.where:
            layers[layer] += size
    return [size + spread // num_layers for size in layers]


def whole_blocks(tokens: int) -> int:
    """``tokens`` rounded up to what the engine's cache hands out at a time."""
    return -(-tokens // BLOCK_TOKENS) * BLOCK_TOKENS


def cache_bytes_read(tracks: Iterable[CacheTrack], context: int, precision: KVPrecision) -> int:
    """Bytes of the cache that one more token reads."""
    return sum(t.layers * t.attended(context) * t.entry_bytes(precision) for t in tracks)


def attention_flops(tracks: Iterable[CacheTrack], context: int) -> int:
    """Arithmetic one more token spends on the cache, projections apart."""
    return sum(t.layers * t.attended(context) * t.flops for t in tracks)


def attention(
    layers: int,
    num_heads: int,
    num_kv_heads: int,
    head_dim: int,
    window: int | None = None,
    where: Iterable[int] = (),
) -> CacheTrack:
    """Full attention, or a sliding window of ``window`` tokens."""
    return CacheTrack(
        layers,
        width=2 * num_kv_heads * head_dim,
        vectors=2 * num_kv_heads,
        capacity=window,
        flops=4 * num_heads * head_dim,
        is_paged=True,
        where=tuple(where),
    )
