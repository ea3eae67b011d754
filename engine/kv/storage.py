"""The tensors behind the block pool: one K and one V pool a layer, addressed by slot."""

import torch

from engine.config import KVGeometry


class PagedStorage:
    """K and V of every layer in fixed-size blocks.

    Layout a layer: [num_kv_heads, num_blocks * block_size, head_dim], so that a request whose
    blocks lie side by side is read as a view, and any other is gathered.
    """

    def __init__(self, geometry: KVGeometry, dtype: torch.dtype, device: torch.device) -> None:
        self.geometry = geometry
        slots = geometry.num_blocks * geometry.block_size
        shape = (geometry.num_layers, geometry.num_kv_heads, slots, geometry.head_dim)
        self._keys = torch.zeros(shape, dtype=dtype, device=device)
        self._values = torch.zeros(shape, dtype=dtype, device=device)

    def append(
        self, layer: int, slots: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> None:
        """Write K and V, each [T, num_kv_heads, head_dim], at ``slots`` (int64 [T])."""
        self._keys[layer].index_copy_(1, slots, keys.transpose(0, 1).to(self._keys.dtype))
        self._values[layer].index_copy_(1, slots, values.transpose(0, 1).to(self._values.dtype))
