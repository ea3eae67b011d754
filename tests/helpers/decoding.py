"""Drives a decoder directly, chunk by chunk, with block tables chosen by the test."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from engine.api import Precision, SamplingParams
from engine.config import KVFormat, KVGeometry
from engine.kv.quantized import make_storage as make_paged_storage
from engine.kv.storage import PagedStorage
from engine.model.batch import Decoder
from engine.model.config import ModelConfig
from engine.model.native import NativeDecoder
from engine.model.source import WeightSource
from engine.runner import build_batch
from engine.scheduling.plan import ScheduledChunk, StepPlan

CPU = torch.device("cpu")


def never() -> bool:
    return False


def ignore_progress(done: int, total: int) -> None:
    del done, total


def build_native(source: WeightSource, precision: Precision = Precision.FP32) -> NativeDecoder:
    return NativeDecoder.build(source, precision, torch.float32, CPU, ignore_progress, never)


def make_storage(
    config: ModelConfig,
    num_blocks: int,
    block_size: int,
    kept: KVFormat = KVFormat.FLOAT32,
) -> PagedStorage:
    geometry = KVGeometry(
        num_layers=config.num_layers,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        block_size=block_size,
        num_blocks=num_blocks,
        format=kept,
    )
    return make_paged_storage(geometry, CPU)


@dataclass
class CachedSequence:
    """One request: its block table, and how many tokens are in the cache."""

    block_ids: tuple[int, ...]
    computed: int = 0
    known: list[int] = field(default_factory=list)

    def chunk(self, token_ids: Sequence[int], num_logits: int) -> ScheduledChunk:
        chunk = ScheduledChunk(
            request_id=str(id(self)),
            token_ids=tuple(token_ids),
            start=self.computed,
            block_ids=self.block_ids,
            num_logits=num_logits,
            params=SamplingParams(temperature=0.0),
            seed=0,
            sample_index=0,
            known_ids=self.known,
        )
        self.computed += len(token_ids)
        self.known.extend(token_ids)
        return chunk


def forward(decoder: Decoder, storage: PagedStorage, *chunks: ScheduledChunk) -> torch.Tensor:
    batch = build_batch(StepPlan(chunks), storage.geometry.block_size, CPU)
    return decoder.forward(batch, storage, never)


def all_logits(
    decoder: Decoder,
    storage: PagedStorage,
    sequence: CachedSequence,
    token_ids: Sequence[int],
    lengths: Sequence[int],
) -> torch.Tensor:
    """Logits of every token [len(token_ids), vocab], computed in chunks of ``lengths``."""
    assert sum(lengths) == len(token_ids)
    parts, start = [], 0
    for length in lengths:
        piece = token_ids[start : start + length]
        parts.append(forward(decoder, storage, sequence.chunk(piece, length)))
        start += length
    return torch.cat(parts)
