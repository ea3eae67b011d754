"""The engine's configuration after "auto" was decided: frozen, concrete, validated once.

Imports no torch: dtypes and devices are named. ``engine.devices`` and the loader resolve it.
"""

from dataclasses import dataclass
from enum import StrEnum

from engine.api import Device, Precision

_QUANTISED_GROUP = 32  # values of an INT4 vector that share a scale and a zero
_PARAMETER_BYTES = 2  # a scale or a zero: bfloat16, which has the range of the values


class KVFormat(StrEnum):
    """How the cache keeps a vector: the K or V of one token and head.

    The floating formats bear the names of torch's types. INT8: a byte a value and one scale.
    INT4: half a byte a value, and a scale and a zero for each group of 32 values (one group where
    the width is no multiple of 32).
    """

    FLOAT32 = "float32"
    FLOAT16 = "float16"
    BFLOAT16 = "bfloat16"
    INT8 = "int8"
    INT4 = "int4"

    @property
    def is_quantised(self) -> bool:
        """Whether vectors are integers with scales."""
        return self in {KVFormat.INT8, KVFormat.INT4}

    def code_bytes(self, width: int) -> int:
        """Bytes of the values of one vector, scales and zeros apart."""
        return width * _BITS[self] // 8

    def num_groups(self, width: int) -> int:
        """Parts of a vector that have a scale of their own; 0 in a floating format."""
        if self is KVFormat.INT4:
            return width // _QUANTISED_GROUP if width % _QUANTISED_GROUP == 0 else 1
        return 1 if self is KVFormat.INT8 else 0

    def num_parameters(self, width: int) -> int:
        """Scales and zeros of one vector."""
        return self.num_groups(width) * (2 if self is KVFormat.INT4 else 1)

    def vector_bytes(self, width: int) -> int:
        """Bytes of one vector of ``width`` values: the one formula that all sizes come from."""
        return self.code_bytes(width) + self.num_parameters(width) * _PARAMETER_BYTES

    def can_keep(self, width: int) -> bool:
        """Whether vectors of this width divide into the format's units."""
        return not self.is_quantised or width % 8 == 0


_BITS = {
    KVFormat.FLOAT32: 32,
    KVFormat.FLOAT16: 16,
    KVFormat.BFLOAT16: 16,
    KVFormat.INT8: 8,
    KVFormat.INT4: 4,
}


@dataclass(frozen=True, slots=True)
class KVGeometry:
    """Size of the paged KV cache.

    One block holds ``block_size`` tokens of every layer, a token 2 (K and V) x num_layers x
    num_kv_heads vectors of ``head_dim`` values.
    """

    num_layers: int
    num_kv_heads: int
    head_dim: int
    block_size: int
    num_blocks: int
    format: KVFormat

    @property
    def bytes_per_token(self) -> int:
        """Bytes of K and V of one token in all layers."""
        vectors = 2 * self.num_layers * self.num_kv_heads
        return vectors * self.format.vector_bytes(self.head_dim)

    @property
    def bytes_per_block(self) -> int:
        """Bytes of one block in all layers."""
        return self.bytes_per_token * self.block_size

    @property
    def total_bytes(self) -> int:
        """Bytes of the whole pool."""
        return self.bytes_per_block * self.num_blocks


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """Every choice made: what ModelOptions left open is concrete here.

    ``compute_dtype`` is a torch dtype's name ("float32", "bfloat16", "float16"). ``kv_dtype``
    names how the cache keeps its vectors: ``kv.format``.
    On a GPU the first ``cpu_layers`` run on the CPU all the same, in ``cpu_dtype``.
    """

    path: str
    precision: Precision
    device: Device
    threads: int
    compute_dtype: str
    kv_dtype: str
    context_length: int
    kv: KVGeometry
    kv_cache: bool
    prefix_cache: bool
    max_batch_tokens: int
    max_streams: int
    cpu_layers: int = 0
    cpu_dtype: str = "float32"
