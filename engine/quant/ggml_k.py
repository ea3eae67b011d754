"""Decode ggml's K types: blocks of 256 values with small integers for scales.

::

    Q2_K  s[16] q[64] d m         16 groups of 16: value = q (d s) - (m t), nibbles s and t
    Q3_K  h[32] q[64] s[12] d     16 groups of 16: value = (q + 4 h - 4) (d s), 6-bit s - 32
    Q4_K  d m s[12] q[128]        8 groups of 32: value = q (d s) - (m t), 6-bit s and t
    Q5_K  d m s[12] h[32] q[128]
    Q6_K  l[128] h[64] s[16] d    16 groups of 16: value = (q - 32) (d s), 8-bit s
"""

import numpy as np

from engine.quant.ggml_blocks import Bytes, Floats, grouped_int4, grouped_int8, half, nibbles
from engine.quant.layout import Weight

_CRUMB_SHIFTS = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)


def _crumbs(packed: Bytes) -> Bytes:
    """Two-bit values of [blocks, 64 bytes]: of each 32 bytes all lowest pairs first, and so on."""
    values: Bytes = packed.reshape(-1, 2, 1, 32) >> _CRUMB_SHIFTS & np.uint8(3)
    return values.reshape(len(packed), 256)


def q2_k(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """Two bits a value, with a scale and an offset a group."""
    packed = blocks[:, :16]
    scales = half(blocks, 80) * (packed & 15)
    offsets = half(blocks, 82) * -(packed >> 4).astype(np.float32)
    return grouped_int4(_crumbs(blocks[:, 16:80]), scales, offsets, shape)


def q3_k(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """Three bits a value, symmetric: 0 to 7 with an offset of four steps."""
    packed = blocks[:, 96:108]
    low = np.concatenate([packed[:, :8] & 15, packed[:, :8] >> 4], axis=1)
    high = packed[:, None, 8:] >> _CRUMB_SHIFTS[0] & np.uint8(3)
    scales = half(blocks, 108) * ((low | high.reshape(-1, 16) << 4).astype(np.float32) - 32)
    bits = np.arange(8, dtype=np.uint8).reshape(1, 8, 1)
    third = blocks[:, None, :32] >> bits & np.uint8(1)
    quants: Bytes = _crumbs(blocks[:, 32:96]) | third.reshape(-1, 256) << np.uint8(2)
    return grouped_int4(quants, scales, scales * -4, shape)


def _k_scales(blocks: Bytes) -> tuple[Floats, Floats]:
    """Scales and offsets of the 8 groups of a Q4_K or Q5_K block, each [blocks, 8].

    The 12 bytes at 4 hold eight 6-bit scales and eight 6-bit minima: the first four of each in
    the low bits of bytes 0-3 and 4-7, the low nibbles of the rest in bytes 8-11, and their upper
    two bits on top of bytes 0-7.
    """
    packed = blocks[:, 4:16]
    first, second, third = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
    scales = np.concatenate([first & 63, (third & 15) | (first >> 6 << 4)], axis=1)
    minima = np.concatenate([second & 63, (third >> 4) | (second >> 6 << 4)], axis=1)
    return half(blocks, 0) * scales, half(blocks, 2) * -minima.astype(np.float32)


def q4_k(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """Four bits a value, with a scale and an offset a group."""
    scales, offsets = _k_scales(blocks)
    return grouped_int4(nibbles(blocks[:, 16:], 32), scales, offsets, shape)


def q5_k(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """Five bits a value, with a scale and an offset a group."""
    scales, offsets = _k_scales(blocks)
    bits = np.arange(8, dtype=np.uint8).reshape(1, 8, 1)
    fifth = (blocks[:, None, 16:48] >> bits & 1) << 4
    quants = nibbles(blocks[:, 48:], 32) | fifth.reshape(len(blocks), 256)
    return grouped_int8(quants.view(np.int8), scales, offsets, shape)


def q6_k(blocks: Bytes, shape: tuple[int, int]) -> Weight:
    """Six bits a value, symmetric."""
    low = blocks[:, :128].reshape(-1, 2, 1, 64)
    low = np.concatenate([low & 15, low >> 4], axis=2).reshape(-1, 2, 4, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    high = blocks[:, 128:192].reshape(-1, 2, 1, 32) >> shifts & 3
    quants = (low | (high << 4)).astype(np.int8)
    quants -= 32
    scales = np.ascontiguousarray(blocks[:, 192:208]).view(np.int8)
    return grouped_int8(quants, half(blocks, 208) * scales, None, shape)
