"""The engine's configuration after "auto" was decided: frozen, concrete, validated once.

Imports no torch: dtypes and devices are named. ``engine.devices`` and the loader resolve it.
"""

from dataclasses import dataclass

from engine.api import Device, Precision


@dataclass(frozen=True, slots=True)
class KVGeometry:
    """Size of the paged KV cache.

    One block holds ``block_size`` tokens of every layer:
    2 (K and V) x num_layers x num_kv_heads x head_dim x dtype_bytes bytes a token.
    """

    num_layers: int
    num_kv_heads: int
    head_dim: int
    block_size: int
    num_blocks: int
    dtype_bytes: int

    @property
    def bytes_per_token(self) -> int:
        """Bytes of K and V of one token in all layers."""
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim * self.dtype_bytes

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

    ``compute_dtype`` and ``kv_dtype`` are torch dtype names ("float32", "bfloat16", "float16").
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
