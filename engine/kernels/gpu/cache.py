"""What the kernels know of one layer's pool of K and V, and where in a block each byte lies.

The layouts are those of ``engine.kv.storage`` and ``engine.kv.quantized``, which read and write
the same blocks. Which block belongs to whom is told by tables.
"""

import math
from dataclasses import dataclass

import torch

from engine.config import KVFormat
from engine.kernels.gpu.language import kernel, tl

_QUAD = 4  # bytes of a token of K, or tokens of a byte of V, that lie side by side


@dataclass(frozen=True, slots=True, eq=False)
class QuantisedParts:
    """What codes mean.

    ``parameters``: float16 [2, kv_heads, blocks, n, block_size]. ``factors``: float32 [2, kv_heads,
    head_dim], of queries and of keys. ``centres``: float32 [kv_heads, head_dim]. ``rotation``:
    float32 [head_dim, head_dim], and again in the type that is computed in.
    """

    parameters: torch.Tensor
    factors: torch.Tensor
    centres: torch.Tensor
    rotation: torch.Tensor
    rounded_rotation: torch.Tensor


@dataclass(frozen=True, slots=True, eq=False)
class LayerCache:
    """One layer's K and V in blocks of ``block_size`` tokens, K's heads before V's.

    ``store``: [2 * kv_heads, blocks * block_size, head_dim] in a floating type, or codes, uint8
    [2, kv_heads, blocks, block_size * code bytes], which come with ``quantised``.
    """

    kept: KVFormat
    kv_heads: int
    head_dim: int
    block_size: int
    store: torch.Tensor
    quantised: QuantisedParts | None = None

    @property
    def bits(self) -> int:
        """Of a code; 0 where there are none."""
        if self.quantised is None:
            return 0
        return 4 if self.kept is KVFormat.INT4 else 8

    @property
    def groups(self) -> int:
        """Parts of a vector that have a scale of their own; one in a floating format."""
        return max(1, self.kept.num_groups(self.head_dim))

    @property
    def head_stride(self) -> int:
        """Elements of ``store`` from one head to the next."""
        return self.store.numel() // (2 * self.kv_heads)

    @property
    def parameter_stride(self) -> int:
        """Elements of the parameters from one head to the next."""
        return 0 if self.quantised is None else self.quantised.parameters.stride(1)

    @property
    def value_quad(self) -> int:
        """Tokens of V whose bytes lie side by side."""
        return math.gcd(self.block_size, _QUAD)


def power_of_two(least: int) -> int:
    """The smallest that is not less: kernels know no other lengths."""
    return 1 << max(0, least - 1).bit_length()


@kernel
def key_byte(token: tl.tensor, byte: tl.tensor, block_size: tl.constexpr) -> tl.tensor:
    """Where in a block of K a byte of a token lies: four of each token side by side."""
    return (byte // 4) * (block_size * 4) + token * 4 + byte % 4


@kernel
def value_byte(
    token: tl.tensor, byte: tl.tensor, code_bytes: tl.constexpr, quad: tl.constexpr
) -> tl.tensor:
    """Where in a block of V a byte of a token lies: that of ``quad`` tokens side by side."""
    return (token // quad * code_bytes + byte) * quad + token % quad
