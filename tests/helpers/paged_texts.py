"""A cache with texts in it, whose blocks lie anywhere, and the tables that find them."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.config import KVFormat, KVGeometry
from engine.kv.quantized import make_storage
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardBatch, Segment

LAYER = 1  # of two


@dataclass(frozen=True)
class PagedTexts:
    """``lengths[i]`` tokens in blocks ``blocks[i]``; the last of each is the row that attends."""

    storage: PagedStorage
    lengths: tuple[int, ...]
    blocks: tuple[tuple[int, ...], ...]

    @property
    def batch(self) -> ForwardBatch:
        """One row a text, as ``engine.model.attention`` takes it."""
        segments = [
            Segment(row, 1, length - 1, blocks)
            for row, (length, blocks) in enumerate(zip(self.lengths, self.blocks, strict=True))
        ]
        nothing = torch.empty(0, dtype=torch.int64)
        return ForwardBatch(nothing, nothing, nothing, tuple(segments), nothing)

    @property
    def tables(self) -> torch.Tensor:
        """int32 [rows, blocks], padded by what must not be read: the last block."""
        width = max(map(len, self.blocks)) + 2
        rows = [
            [*blocks, *[self.storage.geometry.num_blocks - 1] * width] for blocks in self.blocks
        ]
        return torch.tensor([row[:width] for row in rows], dtype=torch.int32)

    def slots(self, text: int) -> torch.Tensor:
        """Where its tokens are kept."""
        size, blocks = self.storage.geometry.block_size, self.blocks[text]
        places = [blocks[i // size] * size + i % size for i in range(self.lengths[text])]
        return torch.tensor(places, device=self.storage.device)


def write_texts(
    kept: KVFormat,
    heads: tuple[int, int],
    block_size: int,
    lengths: Sequence[int],
    device: torch.device,
) -> PagedTexts:
    """Random K and V; ``heads``: how many of K, and their width. A balanced cache where it can be."""
    kv_heads, head_dim = heads
    counts = [-(-length // block_size) for length in lengths]
    geometry = KVGeometry(2, kv_heads, head_dim, block_size, sum(counts) + 2, kept)
    storage = make_storage(geometry, device)
    if kept.is_quantised:
        factors = torch.rand(kv_heads, head_dim, device=device) + 0.5
        storage.balance(LAYER, factors, torch.randn(kv_heads, head_dim, device=device))
    free = list(range(sum(counts) + 1))
    random.shuffle(free)
    blocks = tuple(tuple(free.pop() for _ in range(count)) for count in counts)
    texts = PagedTexts(storage, tuple(lengths), blocks)
    for text, length in enumerate(lengths):
        rows = torch.randn(length, 2 * kv_heads, head_dim, device=device)
        storage.append(LAYER, texts.slots(text), rows)
    return texts
