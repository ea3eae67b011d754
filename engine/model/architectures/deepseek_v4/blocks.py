"""Matrices published in 8 or 4 bits with a scale for each block, decoded to floats.

FP8 is e4m3; FP4 is e2m1, two values a byte, the first in the low half. The scales' grid says how
large a block is: [N / rows, K / columns]. Scales are float32, or e8m0: a bare exponent.
"""

import torch

# e2m1: a sign, two bits of exponent, one of mantissa
_FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def decode_blocks(values: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Decode ``values`` [N, K] (float8_e4m3fn), or bytes [N, K / 2], by ``scales``.

    bfloat16 where that holds every value exactly, that is for scales that are powers of two; else
    float32. Raises ValueError for a grid that does not divide the matrix.
    """
    matrix = values.float() if values.is_floating_point() else _unpack(values)
    rows, columns = matrix.shape
    if scales.dim() != 2 or rows % scales.shape[0] or columns % scales.shape[1]:
        raise ValueError(f"{list(scales.shape)} blocks in {rows} rows of {columns}")
    is_exact = scales.dtype == torch.float8_e8m0fnu
    grid = matrix.view(scales.shape[0], -1, scales.shape[1], columns // scales.shape[1])
    grid.mul_(scales.float()[:, None, :, None])
    return matrix.to(torch.bfloat16) if is_exact else matrix


def _unpack(packed: torch.Tensor) -> torch.Tensor:
    """Bytes [N, K / 2] -> float32 [N, K]."""
    levels = torch.tensor((*_FP4, *(-level for level in _FP4)))
    codes = packed.view(torch.uint8)
    both = torch.stack((codes & 15, codes >> 4), -1).flatten(-2)
    return levels[both.int()]
