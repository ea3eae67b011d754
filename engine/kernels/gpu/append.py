"""Writes the K and V of a decode step to their places in the cache, in one kernel a layer.

Vectors are rotated, centred and quantised as ``engine.kv.quantized`` does it, whose ``append`` is
the slow twin: sums are added up in another order there, so that a code may differ by one.
"""

import torch

from engine.kernels.gpu.cache import LayerCache, key_byte, power_of_two, value_byte
from engine.kernels.gpu.language import kernel, tl

_CHUNK = 32  # rows of the rotation at once


def append(
    cache: LayerCache, keys_values: torch.Tensor, slots: torch.Tensor, sources: torch.Tensor
) -> None:
    """Keep the K and V of row ``sources[i]`` at ``slots[i]``, for every i.

    ``keys_values``: [rows, 2 * kv_heads, head_dim] in any floating type, each row contiguous;
    ``slots``, ``sources``: int64 [rows]. Rows that fill a batch up name a real row and its slot:
    they write what that writes.
    """
    known = cache.quantised
    if known is None:
        _append_floats[slots.shape[0], 2 * cache.kv_heads](
            keys_values,
            cache.store,
            slots,
            sources,
            (keys_values.stride(0), cache.head_stride),
            cache.head_dim,
            power_of_two(cache.head_dim),
        )
        return
    lanes = cache.head_dim // cache.groups // (2 if cache.bits == 4 else 1)
    _append_codes[slots.shape[0], 2 * cache.kv_heads, cache.groups](
        keys_values,
        cache.store,
        known.parameters,
        (known.factors[1], known.centres, known.rotation),
        slots,
        sources,
        (keys_values.stride(0), cache.head_stride, cache.parameter_stride),
        (cache.block_size, cache.bits, cache.groups, cache.value_quad),
        cache.head_dim,
        power_of_two(lanes),
        _CHUNK,
    )


@kernel
def _append_floats(  # noqa: PLR0913, PLR0917 - a kernel is given its addresses one by one
    rows: tl.tensor,
    store: tl.tensor,
    slots: tl.tensor,
    sources: tl.tensor,
    strides: tl.tensor,
    head_dim: tl.constexpr,
    width: tl.constexpr,
) -> None:
    """One vector. ``strides``: of a row, and of a head of the store."""
    row, head = tl.program_id(0), tl.program_id(1)
    lanes = tl.arange(0, width)
    vector = rows + tl.load(sources + row) * strides[0] + head * head_dim
    values = tl.load(vector + lanes, mask=lanes < head_dim, other=0)
    target = store + head.to(tl.int64) * strides[1] + tl.load(slots + row) * head_dim
    tl.store(target + lanes, values.to(store.dtype.element_ty), mask=lanes < head_dim)


@kernel
def _codes(
    values: tl.tensor, scale: tl.tensor, least: tl.constexpr, most: tl.constexpr
) -> tl.tensor:
    """In units of the scale, whole numbers, halves to even ones; 0 where the scale is."""
    inverse = 1.0 / tl.where(scale > 0, scale, 1.0)
    # adding it leaves no bits for what follows the point
    whole = (values * inverse + 12582912.0) - 12582912.0
    limited = tl.minimum(tl.maximum(whole, least), most)
    return tl.where(scale > 0, limited, 0.0).to(tl.int32)


@kernel
def _rotated(  # noqa: PLR0913, PLR0917 - as _append_floats
    vector: tl.tensor,
    known: tl.tensor,
    head: tl.tensor,
    columns: tl.tensor,
    is_key: tl.tensor,
    head_dim: tl.constexpr,
    chunk: tl.constexpr,
) -> tl.tensor:
    """Some columns of a vector, rotated; of a key times its factors, and less its centre."""
    factors, centres, rotation = known
    total = tl.zeros(columns.shape, tl.float32)
    for first in range(0, head_dim, chunk):
        some = first + tl.arange(0, chunk)
        inside = some < head_dim
        values = tl.load(vector + some, mask=inside, other=0).to(tl.float32)
        values *= tl.load(factors + head * head_dim + some, mask=inside & is_key, other=1)
        within = inside[:, None] & (columns[None, :] < head_dim)
        turn = rotation + some[:, None] * head_dim + columns[None, :]
        total += tl.sum(values[:, None] * tl.load(turn, mask=within, other=0), 0)
    centre = centres + head * head_dim + columns
    return total - tl.load(centre, mask=(columns < head_dim) & is_key, other=0)


@kernel
def _append_codes(  # noqa: PLR0913, PLR0914, PLR0917 - as _append_floats
    rows: tl.tensor,
    store: tl.tensor,
    parameters: tl.tensor,
    known: tl.tensor,
    slots: tl.tensor,
    sources: tl.tensor,
    strides: tl.tensor,
    layout: tl.constexpr,
    head_dim: tl.constexpr,
    width: tl.constexpr,
    chunk: tl.constexpr,
) -> None:
    """The values of one vector that share a scale; a lane is a byte of codes.

    ``strides``: of a row, of a head of the store and of parameters; ``layout``: block size, bits,
    groups, ``value_quad``.
    """
    row, head, group = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    block_size, groups = layout[0], layout[2]
    values: tl.constexpr = head_dim // layout[2]
    size: tl.constexpr = values // 2 if layout[1] == 4 else values
    is_key, lanes = head < tl.num_programs(1) // 2, tl.arange(0, width)
    kv_head = head % (tl.num_programs(1) // 2)
    slot = tl.load(slots + row)
    block, token = slot // block_size, slot % block_size
    vector = rows + tl.load(sources + row) * strides[0] + head * head_dim
    low = _rotated(vector, known, kv_head, group * values + lanes, is_key, head_dim, chunk)
    numbers = parameters + head.to(tl.int64) * strides[2] + token
    if layout[1] == 8:
        scale = tl.max(tl.where(lanes < size, tl.abs(low), 0), 0) / 127
        scale = tl.minimum(scale, 65504.0).to(tl.float16)
        tl.store(numbers + block * block_size, scale)
        codes = _codes(low, scale.to(tl.float32), -127.0, 127.0)
        codes = tl.where(is_key, codes + 128, codes & 255)
    else:
        columns = group * values + size + lanes
        high = _rotated(vector, known, kv_head, columns, is_key, head_dim, chunk)
        zero = tl.min(tl.where(lanes < size, tl.minimum(low, high), float("inf")), 0)
        most = tl.max(tl.where(lanes < size, tl.maximum(low, high), float("-inf")), 0)
        zero = tl.minimum(tl.maximum(zero, -65504.0), 65504.0).to(tl.float16)
        spread = tl.maximum(most - zero.to(tl.float32), 0) / 15
        scale = tl.minimum(spread, 65504.0).to(tl.float16)
        numbers += (block * (2 * groups) + group) * block_size
        tl.store(numbers, scale)
        tl.store(numbers + groups * block_size, zero)
        codes = _codes(low - zero.to(tl.float32), scale.to(tl.float32), 0.0, 15.0)
        codes |= _codes(high - zero.to(tl.float32), scale.to(tl.float32), 0.0, 15.0) << 4
    byte = group * size + lanes
    of_value = value_byte(token, byte, size * groups, layout[3])
    within = tl.where(is_key, key_byte(token, byte, block_size), of_value)
    target = store + head.to(tl.int64) * strides[1] + block * (block_size * size * groups)
    tl.store(target + within, codes.to(tl.uint8), mask=lanes < size)
