"""K and V in 8 or 4 bits: how vectors are rotated, turned into codes, and laid out in blocks.

The values of a vector that share a scale are multiplied by a Hadamard matrix before they are
quantised: keys have a few channels that are far larger than the others, and a rotation spreads
them (as in QuaRot, arXiv 2404.00456). Scores are the same when queries are rotated too, and what
is mixed from V is rotated back once.

Channels of keys differ before that, each in its own way. Much of a key is the same in all keys of
its layer and head: this centre is taken off and never put back, as it adds the same to all scores
of a query, which their softmax does not see (as in SageAttention, arXiv 2410.02367). And queries
and keys are multiplied by factors that undo each other, so that a channel is coded the more finely
the more queries make of it (as in QServe, arXiv 2405.04532). A storage begins with centres of zero
and factors of one; ``engine.model.balance`` finds better ones before anything is kept.

A vector of ``head_dim`` values is coded alone, so that tokens are appended one by one::

    INT8   value = q * scale, q from -127 to 127
    INT4   value = q * scale + zero, q from 0 to 15, for each group of 32 values; byte i of a
           group holds values i (low bits) and 16 + i

The native core (``engine/kernels/native/cache.h``) reads and writes the same blocks in place. In
a block of K, bytes 4j to 4j + 3 of all its tokens lie side by side, so that one load feeds the
same four channels of many keys to a product of bytes; there INT8 codes have their sign bit
flipped, as those products want one factor unsigned. In a block of V, byte j of four tokens (of one,
where blocks are of no whole fours) lies side by side, for products with those tokens' weights.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from typing_extensions import override

from engine.config import KVFormat, KVGeometry
from engine.kv.memory import lazy_zeros
from engine.kv.storage import KVReader, PagedStorage, SpanReader

SPAN = 512  # tokens that are made again at once
_QUAD = 4  # adjacent bytes of one key
_FLIP = 0x80


def make_storage(geometry: KVGeometry, device: torch.device) -> PagedStorage:
    """The storage for ``geometry.format``."""
    kind = QuantizedStorage if geometry.format.is_quantised else PagedStorage
    return kind(geometry, device)


def rotation_of(kept: KVFormat, width: int) -> torch.Tensor:
    """Orthogonal and symmetric, float32 [width, width]: Hadamard matrices along the diagonal.

    Each is as large as the largest power of two that divides the values that share a scale.
    """
    group = width // kept.num_groups(width)
    size = group & -group
    block = torch.ones(1, 1)
    while block.shape[0] < size:
        block = torch.cat((torch.cat((block, block), 1), torch.cat((block, -block), 1)))
    return torch.kron(torch.eye(width // size), block / math.sqrt(size))


def encode(rows: torch.Tensor, kept: KVFormat) -> tuple[torch.Tensor, torch.Tensor]:
    """Codes uint8 [..., code bytes] and parameters float16 [..., n] of rows float32 [..., width].

    Parameters are the scales of all groups, then their zeros in INT4. Codes fit the parameters as
    rounded, so that a coarse scale costs no more than its own coarseness.
    """
    groups = _parted(rows, kept.num_groups(rows.shape[-1]), -1)
    if kept is KVFormat.INT8:
        scales = _half(groups.abs().amax(-1) / 127)
        codes = _scaled(groups, scales).clamp_(-127, 127).to(torch.int8).view(torch.uint8)
        return codes.flatten(-2), scales
    zeros = _half(groups.amin(-1))
    raised = groups - zeros.float().unsqueeze(-1)
    scales = _half(raised.amax(-1).clamp(min=0) / 15)
    low, high = _scaled(raised, scales).clamp_(0, 15).to(torch.uint8).chunk(2, -1)
    return (low | high << 4).flatten(-2), torch.cat((scales, zeros), -1)


def decode(codes: torch.Tensor, parameters: torch.Tensor, kept: KVFormat) -> torch.Tensor:
    """The rows, float32 [..., width], that ``encode`` returned codes and parameters of."""
    if kept is KVFormat.INT8:
        return codes.view(torch.int8) * parameters.float()
    scales, zeros = parameters.float().chunk(2, -1)
    halves = _parted(codes, scales.shape[-1], -1)
    values = torch.cat((halves & 15, halves >> 4), -1) * scales.unsqueeze(-1)
    return values.add_(zeros.unsqueeze(-1)).flatten(-2)


def _parted(values: torch.Tensor, *sizes: int) -> torch.Tensor:
    """The last dimension as several, a view."""
    return values.view(*values.shape[:-1], *sizes)


def _half(values: torch.Tensor) -> torch.Tensor:
    """To float16, the largest there is where they are larger."""
    most = torch.finfo(torch.float16).max
    return values.clamp(-most, most).to(torch.float16)


def _scaled(groups: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """Groups in units of their scales, rounded; 0 where a scale is."""
    inverse = scales.float().reciprocal().unsqueeze(-1)
    return torch.where(inverse.isfinite(), groups * inverse, 0.0).round_()


class QuantizedStorage(PagedStorage):
    """K and V of every layer as codes and parameters, in the blocks described above.

    ``codes``: uint8 [num_layers, 2, num_kv_heads, num_blocks, block_size * code bytes], K before V.
    ``parameters``: float16 [num_layers, 2, num_kv_heads, num_blocks, n, block_size].
    ``factors``: float32 [num_layers, 2, num_kv_heads, head_dim], those of queries and of keys.
    ``centres``: float32 [num_layers, num_kv_heads, head_dim], of keys times factors, rotated. What
    was appended with others is of no use.
    """

    def __init__(self, geometry: KVGeometry, device: torch.device) -> None:
        """Allocate the pool; ``geometry.format`` is a quantised one."""
        kept, width, size = geometry.format, geometry.head_dim, geometry.block_size
        if not kept.can_keep(width):
            raise ValueError(f"heads of {width} values cannot be kept in {kept.name}")
        self.geometry = geometry
        self.device = device
        self.dtype = torch.float32
        self.rotation = rotation_of(kept, width).to(device)
        code_bytes = kept.code_bytes(width)
        planes = (geometry.num_layers, 2, geometry.num_kv_heads, geometry.num_blocks)
        self.codes = lazy_zeros((*planes, size * code_bytes), torch.uint8, device)
        count = kept.num_parameters(width)
        self.parameters = lazy_zeros((*planes, count, size), torch.float16, device)
        each = (geometry.num_kv_heads, width)
        self.factors = torch.ones(geometry.num_layers, 2, *each, device=device)
        self.centres = torch.zeros(geometry.num_layers, *each, device=device)
        # as layers, heads, blocks, and the bytes of a block in their order
        self._keys = _parted(self.codes[:, 0], code_bytes // _QUAD, size, _QUAD)
        self._fours = math.gcd(size, _QUAD)
        self._values = _parted(self.codes[:, 1], size // self._fours, code_bytes, self._fours)

    @property
    @override
    def nbytes(self) -> int:
        return self.codes.nbytes + self.parameters.nbytes

    @override
    def append(self, layer: int, slots: torch.Tensor, keys_values: torch.Tensor) -> None:
        heads = self.geometry.num_kv_heads
        keys, values = keys_values[:, :heads] * self.factors[layer, 1], keys_values[:, heads:]
        rotated = torch.cat((keys, values.float()), 1) @ self.rotation
        rotated[:, :heads] -= self.centres[layer]
        codes, parameters = encode(rotated, self.geometry.format)
        blocks = slots // self.geometry.block_size
        tokens = slots % self.geometry.block_size
        quads = _parted(self._flipped(codes[:, :heads]), -1, _QUAD)
        # an index in front: [blocks, tokens, kv_heads, ...]
        self._keys[layer].permute(1, 3, 0, 2, 4)[blocks, tokens] = quads
        values = self._values[layer].permute(1, 2, 4, 0, 3)
        values[blocks, tokens // self._fours, tokens % self._fours] = codes[:, heads:]
        rows = parameters.view(-1, 2, heads, parameters.shape[-1])
        self.parameters[layer].permute(2, 4, 0, 1, 3)[blocks, tokens] = rows

    def balance(self, layer: int, factors: torch.Tensor, centres: torch.Tensor) -> None:
        """Keep the keys of ``layer`` so from now on, when nothing is kept yet.

        ``factors`` of keys, positive, and ``centres`` of keys as they are appended: float32
        [num_kv_heads, head_dim].
        """
        self.factors[layer, 0].copy_(factors.reciprocal())
        self.factors[layer, 1].copy_(factors)
        self.centres[layer].copy_((centres * factors).to(self.device) @ self.rotation)

    @override
    def block_tensors(self, block: int) -> tuple[torch.Tensor, ...]:
        return self.codes[:, :, :, block], self.parameters[:, :, :, block]

    @override
    def reader(self, block_ids: Sequence[int], length: int, dtype: torch.dtype) -> KVReader:
        size = self.geometry.block_size
        num_blocks = -(-length // size)
        if num_blocks > len(block_ids):
            raise ValueError(f"{length} tokens need {num_blocks} blocks, not {len(block_ids)}")
        blocks = torch.tensor(tuple(block_ids[:num_blocks]), dtype=torch.int64, device=self.device)
        return _QuantizedReader(self, blocks, length, dtype, self.rotation)

    def rows(self, layer: int, blocks: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """K times its factors, rotated and less its centres, and V rotated, of blocks (int64 [n]).

        Both float32 [kv_heads, n * size, head_dim].
        """
        kept = self.geometry.format
        keys = self._keys[layer][:, blocks].transpose(2, 3).flatten(3)
        values = self._values[layer][:, blocks].transpose(3, 4).flatten(2, 3)
        # a token's parameters last
        parameters = self.parameters[layer][:, :, blocks].transpose(3, 4)
        return (
            decode(self._flipped(keys), parameters[0], kept).flatten(1, 2),
            decode(values, parameters[1], kept).flatten(1, 2),
        )

    def _flipped(self, codes: torch.Tensor) -> torch.Tensor:
        return codes ^ _FLIP if self.geometry.format is KVFormat.INT8 else codes


@dataclass(frozen=True, slots=True, eq=False)
class _QuantizedReader(SpanReader):
    """Looks at the block table once; makes rows again at every read."""

    storage: QuantizedStorage
    blocks: torch.Tensor
    length: int
    dtype: torch.dtype
    rotation: torch.Tensor

    @override
    def read(self, layer: int) -> tuple[torch.Tensor, torch.Tensor]:
        centres = self.storage.centres[layer].unsqueeze(1)
        spans = [
            torch.stack((keys.float() + centres, values.float())) @ self.rotation
            for keys, values in self.spans(layer)
        ]
        keys, values = torch.cat(spans, 2).unbind(0)
        keys = keys * self.query_factors(layer)
        return keys.to(self.dtype), values.to(self.dtype)

    @override
    def query_factors(self, layer: int) -> torch.Tensor:
        return self.storage.factors[layer, 0].unsqueeze(1)

    @override
    def spans(self, layer: int) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        size = self.storage.geometry.block_size
        count = max(1, SPAN // size)
        for first in range(0, self.blocks.shape[0], count):
            left = self.length - first * size
            keys, values = self.storage.rows(layer, self.blocks[first : first + count])
            yield keys[:, :left].to(self.dtype), values[:, :left].to(self.dtype)
