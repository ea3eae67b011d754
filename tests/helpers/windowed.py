"""A decoder served as the engine serves it: block tables in every group of layers, chunk by chunk."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from engine.api import SamplingParams
from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kv.grouped import make_storage
from engine.kv.manager import KVManager
from engine.kv.transfer import copy_block
from engine.model.batch import Decoder
from engine.model.config import ModelConfig
from engine.runner import build_batch
from engine.scheduling.plan import ScheduledChunk, StepPlan

CPU = torch.device("cpu")


def window_geometry(
    config: ModelConfig,
    *,
    num_blocks: int,
    window_blocks: int,
    block_size: int,
    chunk: int,
    kept: KVFormat = KVFormat.FLOAT32,
) -> KVGeometry:
    """Pools for layers that look back over everything, if there are any, and for windows."""
    layers = range(config.num_layers)
    full = tuple(i for i in layers if not config.is_sliding(i))
    sliding = tuple(i for i in layers if config.is_sliding(i))
    groups = [LayerGroup(full, num_blocks)] if full else []
    if sliding:
        groups.append(LayerGroup(sliding, window_blocks, config.sliding_window, chunk))
    return KVGeometry(
        config.num_layers,
        config.num_kv_heads,
        config.head_dim,
        block_size,
        groups[0].num_blocks,
        kept,
        tuple(groups),
    )


def one_kind(geometry: KVGeometry, num_blocks: int) -> KVGeometry:
    """The same where every layer keeps every token."""
    return replace(geometry, num_blocks=num_blocks, groups=())


class Served:
    """Texts by name, computed as far as they were asked for."""

    def __init__(
        self, decoder: Decoder, geometry: KVGeometry, *, prefix_cache: bool = True
    ) -> None:
        self.decoder = decoder
        self.storage = make_storage(geometry, CPU)
        self.kv = KVManager(
            num_blocks=geometry.pools,
            block_size=geometry.block_size,
            prefix_cache=prefix_cache,
            copies_tails=True,
        )
        self.done: dict[str, int] = {}

    def open(self, name: str, ids: Sequence[int]) -> int:
        """Begin a text; returns how much of it is cached."""
        self.done[name] = self.kv.allocate(name, ids)
        return self.done[name]

    def close(self, name: str) -> None:
        """End a text, and keep what was computed."""
        self.kv.free(name)
        del self.done[name]
        self.kv.check_integrity()

    def read(self, texts: dict[str, Sequence[int]], lengths: Sequence[int]) -> list[torch.Tensor]:
        """Compute the next tokens of several texts in one step; their logits, of each row."""
        chunks = []
        for (name, ids), length in zip(texts.items(), lengths, strict=True):
            start = self.done[name]
            blocks = self.kv.append(name, start + length, room=len(ids))
            assert blocks is not None, "no room"
            chunks.append(
                ScheduledChunk(
                    request_id=name,
                    token_ids=tuple(ids[start : start + length]),
                    start=start,
                    block_ids=blocks,
                    num_logits=length,
                    params=SamplingParams(temperature=0.0),
                    seed=0,
                    sample_index=0,
                    known_ids=list(ids),
                    copy=self.kv.pending_copy(name),
                    windows=self.kv.windows(name),
                )
            )
        plan = StepPlan(tuple(chunks))
        for chunk in chunks:
            copies = [chunk.copy, *(table.copy for table in chunk.windows)]
            for part, copy in zip(self.storage.parts, copies, strict=True):
                if copy is not None:
                    copy_block(part, *copy)
        batch = build_batch(plan, self.storage.geometry.block_size, CPU)
        logits = self.decoder.forward(batch, self.storage, bool)
        for (name, ids), length in zip(texts.items(), lengths, strict=True):
            self.done[name] += length
            self.kv.commit(name, ids, self.done[name])
        self.kv.check_integrity()
        return list(logits.split(list(lengths)))

    def finish(self, name: str, ids: Sequence[int], lengths: Sequence[int]) -> torch.Tensor:
        """Compute a text to its end, in chunks of ``lengths``, again and again."""
        parts: list[torch.Tensor] = []
        while self.done[name] < len(ids):
            length = min(lengths[len(parts) % len(lengths)], len(ids) - self.done[name])
            parts += self.read({name: ids}, [length])
        return torch.cat(parts)
