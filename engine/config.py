"""The engine's configuration after "auto" was decided: frozen, concrete, validated once.

Imports no torch: dtypes and devices are named. ``engine.devices`` and the loader resolve it.
"""

from dataclasses import dataclass, replace
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
class LayerGroup:
    """Layers that look equally far back, which share a pool of blocks and block tables.

    ``window``: tokens a layer sees, its own included (0: all). Where there is one, the first of
    ``num_blocks`` is never written to: it stands in tables for what the window has left behind.
    ``chunk``: the most tokens of one step.
    """

    layers: tuple[int, ...]
    num_blocks: int
    window: int = 0
    chunk: int = 0


@dataclass(frozen=True, slots=True)
class KVGeometry:
    """Size of the paged KV cache.

    One block holds ``block_size`` tokens of the layers of its group, a token 2 (K and V) x
    num_kv_heads vectors of ``head_dim`` values in each. ``groups``: the kinds of layers; none: all
    ``num_layers`` look back over everything. ``num_blocks`` are those of the first group, which is
    the one of the layers that look back over everything, if there are any.
    """

    num_layers: int
    num_kv_heads: int
    head_dim: int
    block_size: int
    num_blocks: int
    format: KVFormat
    groups: tuple[LayerGroup, ...] = ()

    @property
    def pools(self) -> int | tuple[LayerGroup, ...]:
        """The blocks of each group, as ``engine.kv.manager`` wants to know them."""
        return self.groups or self.num_blocks

    @property
    def parts(self) -> "tuple[KVGeometry, ...]":
        """One geometry a group, of its own layers alone."""
        if not self.groups:
            return (self,)
        return tuple(
            replace(self, num_layers=len(g.layers), num_blocks=g.num_blocks, groups=())
            for g in self.groups
        )

    def group_of(self, window: int) -> int:
        """Index of the group of layers that see ``window`` tokens (0: all)."""
        windows = [group.window for group in self.groups]
        return windows.index(window) if window in windows else 0

    @property
    def bytes_per_token(self) -> int:
        """Bytes of K and V of one token in all layers, as long as it is in every window."""
        vectors = 2 * self.num_layers * self.num_kv_heads
        return vectors * self.format.vector_bytes(self.head_dim)

    @property
    def bytes_per_block(self) -> int:
        """Bytes of one block of the first group."""
        if self.groups:
            return self.parts[0].bytes_per_block
        return self.bytes_per_token * self.block_size

    @property
    def total_bytes(self) -> int:
        """Bytes of all pools."""
        return sum(part.bytes_per_block * part.num_blocks for part in self.parts)


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
