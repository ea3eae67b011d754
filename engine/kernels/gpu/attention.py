"""Attention of a decode step over K and V in the blocks they are kept in.

One query token a row looks back through the row's block table (paged attention, arXiv 2309.06180);
nothing is gathered or made wider in memory. The keys of a row are shared out to several programs,
and what those found is joined by a second kernel (Flash-Decoding), so that one long answer fills
a card::

    grid 1   row x K/V head x part       the heads that share a K/V head together
    grid 2   row x head                  the parts' softmaxes, each with its own maximum

Shapes and grids depend on nothing that changes from step to step, so that both can be captured.
Sizes of tiles were reckoned, not measured. Slow twin: ``engine.model.attention``.

In the kernels a lane is a value of a vector; in INT4 it is a byte, whose low bits are one value
and whose high bits another, half a group further on.
"""

from dataclasses import dataclass

import torch

from engine.kernels.gpu.cache import LayerCache, key_byte, power_of_two, value_byte
from engine.kernels.gpu.language import is_interpreted, kernel, tl

_TILE_BYTES = 16 << 10  # of K, and of V, at once
_MOST_PARTS = 64
_LEAST = 16  # of each side of a tensor core's product


@dataclass(frozen=True, slots=True)
class Sight:
    """How a layer looks back: at the last ``window`` tokens (0: at all).

    ``softcap`` c: scores s become c tanh(s / c) before the softmax (0: as they are).
    """

    window: int = 0
    softcap: float = 0.0


def num_parts(rows: int, kv_heads: int, most_tokens: int, processors: int) -> int:
    """Into how many parts keys are shared out: for four programs a processor, up to 64."""
    return max(1, min(4 * processors // (rows * kv_heads), -(-most_tokens // 128), _MOST_PARTS))


def attend(
    cache: LayerCache,
    queries: torch.Tensor,
    tables: torch.Tensor,
    lengths: torch.Tensor,
    sight: Sight,
    parts: int,
) -> torch.Tensor:
    """Attend with one token a row.

    ``queries``: [rows, heads, head_dim], rotated and multiplied by the attention scale, each row
    contiguous. ``tables``: int32 [rows, blocks], its rows contiguous; ``lengths``: int32 [rows],
    at least 1, the tokens in the cache with the row's own. Returns [rows, heads * head_dim] in the
    queries' type. ``parts``: see ``num_parts``.
    """
    rows, heads, head_dim = queries.shape
    group = heads // cache.kv_heads
    out = queries.new_empty((rows, heads, head_dim))
    mixed = queries.new_empty((rows, heads, parts, head_dim), dtype=torch.float32)
    softmax = queries.new_empty((2, rows, heads, parts), dtype=torch.float32)
    lanes = head_dim // 2 if cache.bits == 4 else head_dim
    tile = _tile(lanes * cache.store.element_size())
    known = cache.quantised
    if known is not None:
        grouped = queries.reshape(rows, cache.kv_heads, -1, head_dim)
        queries = (grouped * known.factors[0].unsqueeze(1) @ known.rotation).flatten(1, 2)
    _attend_part[rows, cache.kv_heads, parts](
        queries,
        cache.store,
        cache.store if known is None else known.parameters,
        tables,
        lengths,
        mixed,
        softmax,
        (queries.stride(0), tables.stride(0), cache.head_stride, cache.parameter_stride),
        (cache.block_size, cache.bits, cache.groups, cache.value_quad, lanes),
        (group, head_dim),
        (max(_LEAST, power_of_two(group)), max(_LEAST, power_of_two(lanes))),
        (sight.window, sight.softcap, tile),
        _product(out.dtype),
    )
    widths = head_dim, power_of_two(head_dim), _MOST_PARTS
    _join_parts[rows, heads](mixed, softmax, lengths, out, parts, *widths, sight.window, tile)
    if known is not None:
        out = out @ known.rounded_rotation.T
    return out.view(rows, heads * head_dim)


def _tile(token_bytes: int) -> int:
    """Tokens of K and V that a program looks at together."""
    return max(_LEAST, min(128, power_of_two(_TILE_BYTES // token_bytes)))


def _product(dtype: torch.dtype) -> tl.dtype:
    """The type that rows are multiplied in. The interpreter does not multiply bfloat16."""
    if dtype == torch.float16:
        return tl.float16
    return tl.bfloat16 if dtype == torch.bfloat16 and not is_interpreted() else tl.float32


@kernel
def _share(
    length: tl.tensor, window: tl.constexpr, parts: tl.tensor, tile: tl.constexpr
) -> tuple[tl.tensor, tl.tensor]:
    """The first token that is seen, and how many each part takes: whole tiles."""
    start = tl.maximum(length - window, 0) if window > 0 else length * 0
    return start, tl.cdiv(tl.cdiv(length - start, parts), tile) * tile


@kernel
def _load(  # noqa: PLR0913, PLR0917 - a kernel is given its addresses and sizes one by one
    store: tl.tensor,
    parameters: tl.tensor,
    blocks: tl.tensor,
    tokens: tl.tensor,
    mask: tl.tensor,
    lanes: tl.tensor,
    layout: tl.constexpr,
    is_key: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor]:
    """K or V of tokens, whose numbers and lanes span a tile: low and high values (INT4 alone).

    INT8 ones are to be multiplied by their tokens' scales. ``layout``: block size, bits, groups,
    ``value_quad``, lanes in use.
    """
    block_size: tl.constexpr = layout[0]
    groups: tl.constexpr = layout[2]
    columns: tl.constexpr = layout[4]
    if layout[1] == 0:
        low = tl.load(store + (blocks * block_size + tokens) * columns + lanes, mask=mask, other=0)
        high = low
    else:
        if is_key:
            within = key_byte(tokens, lanes, block_size)
        else:
            within = value_byte(tokens, lanes, columns, layout[3])
        codes = tl.load(store + blocks * (block_size * columns) + within, mask=mask, other=0)
        if layout[1] == 4:
            at = parameters + tokens
            at += (blocks * (2 * groups) + lanes // (columns // groups)) * block_size
            scales = tl.load(at, mask=mask, other=0).to(tl.float32)
            zeros = tl.load(at + groups * block_size, mask=mask, other=0).to(tl.float32)
            low = (codes & 15).to(tl.float32) * scales + zeros
            high = (codes >> 4).to(tl.float32) * scales + zeros
        else:
            # the sign bit of keys is flipped
            low = codes.to(tl.int32) - 128 if is_key else codes.to(tl.int8, bitcast=True)
            high = low
    return low, high


@kernel
def _scores(  # noqa: PLR0913, PLR0917 - as _load
    queries: tl.tensor,
    keys: tl.tensor,
    blocks: tl.tensor,
    tokens: tl.tensor,
    seen: tl.tensor,
    lanes: tl.tensor,
    layout: tl.constexpr,
    softcap: tl.constexpr,
    product: tl.constexpr,
) -> tl.tensor:
    """Of each query head with each token, those not seen at minus infinity."""
    mask = seen[None, :] & (lanes[:, None] < layout[4])
    at = blocks[None, :], tokens[None, :]
    low, high = _load(*keys, *at, mask, lanes[:, None], layout, is_key=True)
    scores = tl.dot(queries[0], low.to(product), input_precision="ieee")
    if layout[1] == 4:
        scores += tl.dot(queries[1], high.to(product), input_precision="ieee")
    if layout[1] == 8:
        scales = tl.load(keys[1] + blocks * layout[0] + tokens, mask=seen, other=0)
        scores *= scales.to(tl.float32)[None, :]
    if softcap > 0:
        scores = softcap * (1.0 - 2.0 / (tl.exp(scores * (2.0 / softcap)) + 1.0))
    return tl.where(seen[None, :], scores, float("-inf"))


@kernel
def _look_back(  # noqa: PLR0913, PLR0914, PLR0917 - as _load
    queries: tl.tensor,
    keys: tl.tensor,
    values: tl.tensor,
    table: tl.tensor,
    first: tl.tensor,
    last: tl.tensor,
    layout: tl.constexpr,
    sizes: tl.constexpr,
    sight: tl.constexpr,
    product: tl.constexpr,
) -> tuple[tl.tensor, tl.tensor, tl.tensor, tl.tensor]:
    """Attend to tokens [first, last), at least one: what was mixed (low, high), maxima, sums.

    ``queries`` are low and high; ``keys`` and ``values``: codes and parameters.
    """
    low_mixed, high_mixed = tl.zeros(sizes, tl.float32), tl.zeros(sizes, tl.float32)
    maxima = tl.full((sizes[0],), float("-inf"), tl.float32)
    sums = tl.full((sizes[0],), 0.0, tl.float32)
    lanes = tl.arange(0, sizes[1])
    for ahead in range(first, last, sight[2]):
        places = ahead + tl.arange(0, sight[2])
        seen = places < last
        blocks = tl.load(table + places // layout[0], mask=seen, other=0).to(tl.int64)
        tokens = places % layout[0]
        scores = _scores(queries, keys, blocks, tokens, seen, lanes, layout, sight[1], product)
        newest = tl.maximum(maxima, tl.max(scores, 1))
        weights = tl.exp(scores - newest[:, None])
        faded = tl.exp(maxima - newest)
        sums = sums * faded + tl.sum(weights, 1)
        maxima = newest
        mask = seen[:, None] & (lanes[None, :] < layout[4])
        at = blocks[:, None], tokens[:, None]
        low, high = _load(*values, *at, mask, lanes[None, :], layout, is_key=False)
        if layout[1] == 8:
            # not the weights: small ones times small scales are next to nothing in float16
            scales = tl.load(values[1] + blocks * layout[0] + tokens, mask=seen, other=0)
            low = low.to(tl.float32) * scales.to(tl.float32)[:, None]
        mixed = tl.dot(weights.to(product), low.to(product), input_precision="ieee")
        low_mixed = low_mixed * faded[:, None] + mixed
        if layout[1] == 4:
            mixed = tl.dot(weights.to(product), high.to(product), input_precision="ieee")
            high_mixed = high_mixed * faded[:, None] + mixed
    return low_mixed, high_mixed, maxima, sums


@kernel
def _attend_part(  # noqa: PLR0913, PLR0914, PLR0917 - as _load
    queries: tl.tensor,
    store: tl.tensor,
    parameters: tl.tensor,
    tables: tl.tensor,
    lengths: tl.tensor,
    mixed: tl.tensor,
    softmax: tl.tensor,
    strides: tl.tensor,
    layout: tl.constexpr,
    heads: tl.constexpr,
    sizes: tl.constexpr,
    sight: tl.constexpr,
    product: tl.constexpr,
) -> None:
    """One part of a row's keys, for the query heads of one K/V head.

    ``mixed``: float32 [rows, heads, parts, head_dim], not yet divided by the sums; ``softmax``:
    float32 [2, rows, heads, parts], maxima and sums. Nothing is written for a part with no keys.
    ``strides``: of a row of queries and of tables, of a head of the store and of parameters;
    ``heads``: how many, and their width; ``sizes``: heads and lanes, as powers of two; ``sight``:
    window, softcap, tile.
    """
    row, head, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    kv_heads, parts = tl.num_programs(1).to(tl.int64), tl.num_programs(2)
    length = tl.load(lengths + row)
    start, share = _share(length, sight[0], parts, sight[2])
    first = start + part * share
    last = tl.minimum(first + share, length)
    if first >= last:
        return
    members, lanes = tl.arange(0, sizes[0]), tl.arange(0, sizes[1])
    half: tl.constexpr = heads[1] // layout[2] // 2
    columns = lanes + lanes // half * half if layout[1] == 4 else lanes
    mask = (members[:, None] < heads[0]) & (lanes[None, :] < layout[4])
    at = queries + row * strides[0] + (head * heads[0] + members[:, None]) * heads[1] + columns
    low = tl.load(at, mask=mask, other=0).to(product)
    high = tl.load(at + half, mask=mask, other=0).to(product) if layout[1] == 4 else low
    keys = store + head.to(tl.int64) * strides[2], parameters + head.to(tl.int64) * strides[3]
    values = keys[0] + kv_heads * strides[2], keys[1] + kv_heads * strides[3]
    table = tables + row * strides[1]
    low, high, maxima, sums = _look_back(
        (low, high), keys, values, table, first, last, layout, sizes, sight, product
    )
    place = ((row * kv_heads + head) * heads[0] + members) * parts + part
    at = mixed + place[:, None] * heads[1] + columns
    tl.store(at, low, mask=mask)
    if layout[1] == 4:
        tl.store(at + half, high, mask=mask)
    tl.store(softmax + place, maxima, mask=members < heads[0])
    place += tl.num_programs(0) * kv_heads * heads[0] * parts
    tl.store(softmax + place, sums, mask=members < heads[0])


@kernel
def _join_parts(  # noqa: PLR0913, PLR0914, PLR0917 - as _load
    mixed: tl.tensor,
    softmax: tl.tensor,
    lengths: tl.tensor,
    out: tl.tensor,
    parts: tl.tensor,
    head_dim: tl.constexpr,
    width: tl.constexpr,
    most_parts: tl.constexpr,
    window: tl.constexpr,
    tile: tl.constexpr,
) -> None:
    """Bring the parts of one row and head to one maximum, add them, and divide by the sum.

    How many there are is no compile-time value: steps of every size share what is compiled.
    """
    row, head, num_heads = tl.program_id(0), tl.program_id(1), tl.num_programs(1)
    length = tl.load(lengths + row)
    start, share = _share(length, window, parts, tile)
    places = (row * num_heads + head) * parts + tl.arange(0, most_parts)
    has_keys = tl.arange(0, most_parts) < tl.cdiv(length - start, share)
    lanes = tl.arange(0, width)
    maxima = tl.load(softmax + places, mask=has_keys, other=float("-inf"))
    weights = tl.exp(maxima - tl.max(maxima, 0))
    sums = softmax + tl.num_programs(0) * num_heads * parts + places
    total = tl.sum(tl.load(sums, mask=has_keys, other=0) * weights, 0)
    is_value = has_keys[:, None] & (lanes[None, :] < head_dim)
    at = mixed + places.to(tl.int64)[:, None] * head_dim + lanes[None, :]
    joined = tl.sum(tl.load(at, mask=is_value, other=0) * weights[:, None], 0) / total
    tl.store(out + (row * num_heads + head) * head_dim + lanes, joined, mask=lanes < head_dim)
