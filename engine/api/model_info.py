"""What is known of the loaded model."""

from dataclasses import dataclass

from engine.api.options import Device, Precision


@dataclass(frozen=True, slots=True)
class KVPool:
    """Blocks of the cache for one kind of layers; an answer takes ``most_blocks`` at most.

    None: as many as its tokens fill, as layers that look back over everything need.
    """

    num_blocks: int
    most_blocks: int | None = None


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The loaded model, as resolved. Bytes are what is allocated, not what the file holds.

    ``kernels`` says in words which matrix product runs each part; ``draft`` names what guesses
    tokens ahead. ``kv_pools``: one a kind of layers. ``num_cpu_layers`` of a model on a GPU run on the CPU all the same.
    """

    path: str
    name: str
    architecture: str
    precision: Precision
    device: Device
    device_name: str
    threads: int
    context_length: int
    trained_context_length: int
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    num_parameters: int
    file_bytes: int
    weights_bytes: int
    kv_bytes_per_token: int
    kv_budget_bytes: int
    kv_block_size: int
    kv_dtype: str
    load_ns: int
    has_chat_template: bool
    kernels: tuple[str, ...] = ()
    license: str = ""
    is_calibrated: bool = False
    draft: str = ""
    num_cpu_layers: int = 0
    kv_pools: tuple[KVPool, ...] = ()

    def num_fitting(self, num_tokens: int) -> int:
        """Answers of so many tokens that have room at once; a block stays free for each."""
        needed = -(-num_tokens // self.kv_block_size)
        pools = self.kv_pools or (
            KVPool(self.kv_budget_bytes // max(1, self.kv_bytes_per_token * self.kv_block_size)),
        )
        return min(
            (pool.num_blocks + 1) // (min(needed, pool.most_blocks or needed) + 1)
            for pool in pools
        )
