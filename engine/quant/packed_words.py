"""Decode weights that GPTQ, AWQ and compressed-tensors pack into 32-bit words.

All three keep value = (q - zero) * scale with a scale and a zero a group of inputs, and differ in
which axis a word runs along, in the order of its values, and in how zeros are stored::

    GPTQ   qweight [K / p, N]   along K, lowest bits first; zeros [G, N / p] along N, one too small
    AWQ    qweight [K, N / 8]   along N, in the order 0 2 4 6 1 3 5 7; zeros [G, N / 8] likewise
    packed weight  [N, K / p]   along K, lowest bits first; zeros [N / p, G] along N

p values of b = 32 / p bits a word; G groups. Tensors come as they are stored; nothing is read here.
"""

import torch

from engine.quant.layout import (
    ChannelInt8Weight,
    DenseWeight,
    GroupedInt4Weight,
    GroupedInt8Weight,
    Weight,
)

_AWQ_PLACES = [0, 4, 1, 5, 2, 6, 3, 7]  # where in its word each of eight columns lies


class PackingError(Exception):
    """Tensors that do not fit each other; the message is the reason."""


def decode_gptq(
    qweight: torch.Tensor,
    qzeros: torch.Tensor,
    scales: torch.Tensor,
    g_idx: torch.Tensor | None,
    bits: int,
    zero_shift: int = 1,
) -> Weight:
    """GPTQ's tensors -> [N, K].

    Args:
        qweight: int32 [K / p, N].
        qzeros: int32 [G, N / p].
        scales: float [G, N].
        g_idx: int32 [K], the group of each input; None: groups lie one after the other.
        bits: 4 or 8.
        zero_shift: what was taken off each zero before it was stored (1; 0 in version 2).

    Raises PackingError.
    """
    _check_words(qweight, qzeros)
    quants = unpack_words(qweight, bits).permute(1, 0, 2).reshape(qweight.shape[1], -1)
    zeros = unpack_words(qzeros, bits).reshape(qzeros.shape[0], -1).t()
    return _join(quants, scales.t(), zeros.float() + zero_shift, bits, g_idx)


def decode_awq(qweight: torch.Tensor, qzeros: torch.Tensor, scales: torch.Tensor) -> Weight:
    """AWQ's GEMM tensors -> [N, K]: qweight [K, N / 8], qzeros [G, N / 8], scales [G, N].

    Raises PackingError.
    """
    _check_words(qweight, qzeros)
    quants, zeros = (
        unpack_words(words, 4)[..., _AWQ_PLACES].reshape(words.shape[0], -1).t()
        for words in (qweight, qzeros)
    )
    return _join(quants.contiguous(), scales.t(), zeros.float(), 4, None)


def decode_compressed(
    packed: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor | None,
    g_idx: torch.Tensor | None,
    bits: int,
    columns: int,
) -> Weight:
    """The tensors of compressed-tensors' pack-quantized form -> [N, K].

    Args:
        packed: int32 [N, ceil(K / p)]; values are stored with 2^(b - 1) added.
        scales: float [N, G].
        zeros: int32 [ceil(N / p), G], likewise; None: all zero.
        g_idx: int32 [K], the group of each input, -1 throughout or None where they lie in order.
        bits: 4 or 8.
        columns: K.

    Raises PackingError.
    """
    _check_words(packed)
    quants = unpack_words(packed, bits).reshape(packed.shape[0], -1)
    if not 0 <= quants.shape[1] - columns < 32 // bits:
        raise PackingError(f"{packed.shape[1]} words a row cannot hold {columns} values")
    middle = float(1 << bits - 1)
    if zeros is None:
        levels = torch.full_like(scales, middle, dtype=torch.float32)
    else:
        _check_words(zeros)
        words = unpack_words(zeros, bits).permute(0, 2, 1).reshape(-1, zeros.shape[1])
        levels = words[: packed.shape[0]].float()
    if g_idx is not None and bool((g_idx < 0).all()):
        g_idx = None
    return _join(quants[:, :columns].contiguous(), scales, levels, bits, g_idx)


def unpack_words(words: torch.Tensor, bits: int) -> torch.Tensor:
    """int32 [R, C] -> uint8 [R, C, 32 / bits], lowest bits first."""
    octets = words.reshape(-1).view(torch.uint8).view(*words.shape, 4)
    if bits == 8:
        return octets
    values = torch.empty(*words.shape, 8, dtype=torch.uint8)
    values[..., 0::2] = octets & 15
    values[..., 1::2] = octets >> 4
    return values


def groups_in_order(g_idx: torch.Tensor, num_groups: int) -> bool:
    """Whether input k belongs to group k * G / K, as it does where nothing was reordered."""
    columns = g_idx.shape[0]
    if columns % num_groups:
        return False
    return torch.equal(g_idx.long(), torch.arange(columns) // (columns // num_groups))


def _check_words(*tensors: torch.Tensor) -> None:
    for words in tensors:
        if words.dtype != torch.int32 or words.dim() != 2:
            raise PackingError(f"packed values are {words.dtype} of {words.dim()} dimensions")


def _join(
    quants: torch.Tensor,
    scales: torch.Tensor,
    zeros: torch.Tensor,
    bits: int,
    g_idx: torch.Tensor | None,
) -> Weight:
    """(quants - zeros) * scales as a canonical weight.

    quants: uint8 [N, K]; scales, zeros: [N, G]. Inputs whose groups are mixed (GPTQ's act-order)
    have no grouped form and become floats.
    """
    rows, columns = quants.shape
    scales = scales.float().contiguous()
    if scales.dim() != 2 or scales.shape[0] != rows or zeros.shape != scales.shape:
        raise PackingError(
            f"scales {list(scales.shape)} and zeros {list(zeros.shape)} do not fit {rows} rows"
        )
    num_groups = scales.shape[1]
    if g_idx is not None and not _belongs(g_idx, columns, num_groups):
        raise PackingError("an input belongs to no group")
    if g_idx is not None and not groups_in_order(g_idx, num_groups):
        group = g_idx.long()
        return DenseWeight((quants - zeros[:, group]).mul_(scales[:, group]))
    if columns % num_groups:
        raise PackingError(f"{columns} inputs do not make {num_groups} groups")
    if bits == 4:
        return GroupedInt4Weight(quants, scales, -zeros * scales)
    signed = quants.sub(128).view(torch.int8)  # wraps around: 0..255 becomes -128..127
    if not bool((zeros == 128).all()):
        return GroupedInt8Weight(signed, scales, (128 - zeros) * scales)
    if num_groups == 1:
        return ChannelInt8Weight(signed, scales[:, 0].contiguous())
    return GroupedInt8Weight(signed, scales)


def _belongs(g_idx: torch.Tensor, columns: int, num_groups: int) -> bool:
    if g_idx.shape != (columns,) or g_idx.dtype not in {torch.int32, torch.int64}:
        return False
    return bool(((g_idx >= 0) & (g_idx < num_groups)).all())
