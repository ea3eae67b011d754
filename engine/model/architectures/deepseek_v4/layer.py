"""One layer of DeepSeek-V4: attention and experts, each between hyper-connections."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.kv.compressed import RequestStep, Tail
from engine.model.architectures.deepseek_v4.attention import Compressed, SegmentAttention
from engine.model.architectures.deepseek_v4.experts import RoutedExperts
from engine.model.architectures.deepseek_v4.hyper import HyperConnection
from engine.model.architectures.deepseek_v4.indexer import Indexer
from engine.model.architectures.deepseek_v4.pool import Compressor
from engine.model.architectures.deepseek_v4.rotary import Rotation, rotate
from engine.model.norm import RMSNorm
from engine.quant.linear import Linear


@dataclass(frozen=True, slots=True, eq=False)
class StepRows:
    """What all layers of a step share: requests, positions, and the rotations of these.

    ``steps`` and ``starts``: each request's step, and where its rows begin. ``positions``: int64
    [T]. ``turns``: by rotation.
    """

    steps: tuple[RequestStep, ...]
    starts: tuple[int, ...]
    positions: torch.Tensor
    turns: tuple[torch.Tensor, ...]


@dataclass(frozen=True, slots=True, eq=False)
class GroupedOutput:
    """Heads in groups, each projected to few values, and all of these to the hidden size."""

    groups: tuple[Linear, ...]
    out: Linear

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        return self.out.nbytes + sum(group.nbytes for group in self.groups)

    def __call__(self, heads: torch.Tensor) -> torch.Tensor:
        """Heads [T, heads, D] -> [T, hidden]."""
        parts = heads.flatten(1).chunk(len(self.groups), -1)
        narrow = [group(part) for group, part in zip(self.groups, parts, strict=True)]
        return self.out(torch.cat(narrow, -1))


@dataclass(frozen=True, slots=True, eq=False)
class CompressedAttention:
    """The attention block of one layer.

    ``inputs``: one product of the queries' latent, the key-value row and what the pools take.
    ``number``: of the layer, and ``kind_number``: among those of its kind. ``rotation``: its own
    of the decoder's. ``window``: tokens seen as they are.
    """

    number: int
    kind_number: int
    rotation: int
    head_dim: int
    window: int
    eps: float
    inputs: Linear
    queries: Linear
    output: GroupedOutput
    latent_norm: RMSNorm
    key_norm: RMSNorm
    sinks: torch.Tensor
    compressor: Compressor | None = None
    indexer: Indexer | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        parts = (self.inputs, self.queries, self.output, self.latent_norm, self.key_norm)
        optional = [part for part in (self.compressor, self.indexer) if part is not None]
        own = self.sinks.numel() * self.sinks.element_size()
        return own + sum(part.nbytes for part in (*parts, *optional))

    def __call__(
        self, x: torch.Tensor, rows: StepRows, rotations: Sequence[Rotation]
    ) -> torch.Tensor:
        """Attend with x [T, hidden], normalised: [T, hidden]. Adds to the cache."""
        turns = rows.turns[self.rotation]
        latent, key, pooled = self._project(x)
        latent = self.latent_norm(latent)
        queries = rotate(self._queries(latent), turns)
        keys = rotate(self.key_norm(key), turns)
        prepared = None if self.indexer is None else self.indexer.prepare(x, latent, turns)
        mixed = torch.empty_like(queries)
        for step, start in zip(rows.steps, rows.starts, strict=True):
            span = slice(start, start + step.length)
            if self.compressor is not None:
                rotation = rotations[self.rotation]
                self.compressor(step, self.kind_number, pooled[span], rotation)
            own = None if prepared is None else (prepared[0][span], prepared[1][span])
            compressed = self._compressed(step, rows.positions[span], own)
            attention = SegmentAttention(step, self.window, self.sinks)
            mixed[span] = attention(self.number, queries[span], keys[span], compressed)
        return self.output(rotate(mixed, turns.conj()))

    def absorb(
        self, x: torch.Tensor, step: RequestStep, turns: torch.Tensor, rotation: Rotation
    ) -> None:
        """Leave in the cache what attending with x [step.length, hidden] would, and no more."""
        _, key, pooled = self._project(x)
        step.stage(Tail.WINDOW, self.number, rotate(self.key_norm(key), turns))
        if self.compressor is not None:
            self.compressor(step, self.kind_number, pooled, rotation)

    def _project(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Latent of the queries, key-value row, and what is pooled."""
        pooled = 0 if self.compressor is None else self.compressor.columns
        both = self.inputs(x)
        sizes = [both.shape[1] - self.head_dim - pooled, self.head_dim, pooled]
        latent, key, rest = torch.split(both, sizes, -1)
        return latent.contiguous(), key.contiguous(), rest

    def _queries(self, latent: torch.Tensor) -> torch.Tensor:
        """Heads [T, heads, D], each normalised without a weight, and scaled for the scores."""
        heads = self.queries(latent).view(latent.shape[0], -1, self.head_dim)
        squares = heads.float().square().mean(-1, keepdim=True)
        scales = torch.rsqrt(squares + self.eps) / math.sqrt(self.head_dim)
        return heads * scales.to(heads.dtype)

    def _compressed(
        self,
        step: RequestStep,
        positions: torch.Tensor,
        prepared: tuple[torch.Tensor, torch.Tensor] | None,
    ) -> Compressed | None:
        """Which entries the rows of one request see."""
        if self.compressor is None:
            return None
        kind, layer = self.compressor.pools[0].kind, self.kind_number
        stride = self.compressor.pools[0].stride
        seen, count = (positions + 1) // stride, step.end // stride
        chosen = None
        if self.indexer is not None and prepared is not None and count > self.indexer.top:
            chosen = self.indexer.choose(step, layer, prepared, seen, count)
        return Compressed(kind, layer, count, seen, chosen)


@dataclass(frozen=True, slots=True, eq=False)
class V4Layer:
    """The weights of one layer."""

    attention: CompressedAttention
    experts: RoutedExperts
    attention_norm: RMSNorm
    ffn_norm: RMSNorm
    attention_streams: HyperConnection
    ffn_streams: HyperConnection

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        norms = self.attention_norm.nbytes + self.ffn_norm.nbytes
        streams = self.attention_streams.nbytes + self.ffn_streams.nbytes
        return self.attention.nbytes + self.experts.nbytes + norms + streams

    def attend(
        self, streams: torch.Tensor, rows: StepRows, rotations: Sequence[Rotation]
    ) -> torch.Tensor:
        """The first half: streams [T, S, hidden] -> [T, S, hidden]."""
        x, way = self.attention_streams.enter(streams)
        out = self.attention(self.attention_norm(x), rows, rotations)
        return self.attention_streams.leave(streams, out, way)

    def transform(self, streams: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
        """The second half, row by row."""
        x, way = self.ffn_streams.enter(streams)
        out = self.experts(self.ffn_norm(x), token_ids)
        return self.ffn_streams.leave(streams, out, way)
