"""Hands the layers of a decoder to the native core, where every part of them is one it knows.

The decoder asks once, when it is built, and goes through torch where the answer is None.
"""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch

from engine.kernels.decode_step import (
    DecodeStep,
    LayerParts,
    ModelParts,
    RotaryRows,
    StepBatch,
    StepCache,
    StepSegment,
    StepWindow,
)
from engine.kernels.matrix import PackedMatrix
from engine.kv.quantized import QuantizedStorage
from engine.kv.split import SplitStorage
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardBatch, ForwardInterruptedError
from engine.model.config import ModelConfig
from engine.model.layer import DecoderLayer
from engine.model.mlp import GatedMLP
from engine.model.norm import HeadNorm, RMSNorm
from engine.model.part_clock import PartClock
from engine.model.rope import RotaryTable
from engine.quant.linear import Linear
from engine.quant.native_cpu import NativeLinear


class NativeStep:
    """A decoder's forward pass from embedded rows to the head's product."""

    def __init__(self, step: DecodeStep) -> None:
        self._step = step
        self._storage: PagedStorage | None = None
        self._caches: Sequence[StepCache] = ()  # of the storage; none: it cannot be read
        self._halves: Sequence[tuple[torch.Tensor, torch.Tensor]] = ()  # of the rotary tables
        self._rotations: Sequence[RotaryRows] = ()

    def can_read(self, storage: PagedStorage) -> bool:
        """Whether the core reads this cache in place."""
        if storage is not self._storage:
            caches = () if isinstance(storage, SplitStorage) else _caches_of(storage)
            is_readable = all(cache.is_readable for cache in caches)
            self._storage, self._caches = storage, caches if is_readable else ()
        return bool(self._caches)

    def run(
        self,
        batch: ForwardBatch,
        embedded: torch.Tensor,
        storage: PagedStorage,
        tables: Sequence[RotaryTable],
        interrupted: Callable[[], bool],
        clock: PartClock | None = None,
    ) -> torch.Tensor:
        """Append K and V to ``storage`` and return logits as the head gives them, [R, vocab_size].

        ``can_read(storage)`` must be true. ``embedded``: float32 [T, hidden]; ``tables`` hold all positions of the batch. What each
        part takes goes to ``clock``. Raises ForwardInterruptedError when ``interrupted()`` is true
        between two layers.
        """
        step_batch = StepBatch(
            embedded=embedded.contiguous(),
            positions=batch.positions,
            slots=batch.slots,
            logit_rows=batch.logit_rows,
            segments=[
                StepSegment(s.start, s.length, s.context, s.block_ids) for s in batch.segments
            ],
            rotations=self._rotations_of(tables),
            part_ns=None if clock is None else clock.address,
        )
        if not self.can_read(storage):
            raise ValueError("the core does not read this cache")
        first, *more = self._caches
        windows = [
            StepWindow(cache, batch.slots_of(group), [s.table(group) for s in batch.segments])
            for group, cache in enumerate(more, start=1)
        ]
        threads = torch.get_num_threads()
        logits = self._step.run(step_batch, first, threads, interrupted, windows)
        if logits is None:
            raise ForwardInterruptedError
        if clock is not None:
            clock.settle()
        return logits

    def _rotations_of(self, tables: Sequence[RotaryTable]) -> Sequence[RotaryRows]:
        """The rows of ``tables``, described anew only where one has grown or is another."""
        halves = [table.halves for table in tables]
        if len(halves) != len(self._halves) or not all(map(operator.is_, halves, self._halves)):
            self._halves = halves
            self._rotations = [RotaryRows(*pair) for pair in halves]
        return self._rotations


def _caches_of(storage: PagedStorage) -> list[StepCache]:
    """The cache of each group of layers."""
    groups = storage.geometry.groups
    if not groups:
        return [_cache_of(storage)]
    return [
        replace(_cache_of(part), layers=group.layers)
        for part, group in zip(storage.parts, groups, strict=True)
    ]


def _cache_of(storage: PagedStorage) -> StepCache:
    geometry = storage.geometry
    num_slots = geometry.num_blocks * geometry.block_size
    if isinstance(storage, QuantizedStorage):
        return StepCache(
            geometry.format,
            storage.codes,
            storage.parameters,
            num_slots,
            geometry.block_size,
            factors=storage.factors,
            centres=storage.centres,
        )
    return StepCache(geometry.format, storage.pool, None, num_slots, geometry.block_size)


def make_native_step(
    config: ModelConfig,
    layers: Sequence[DecoderLayer],
    norm: RMSNorm,
    head: Linear,
    windows: Sequence[int],
) -> NativeStep | None:
    """The layers as one native step; None where a part has no native counterpart.

    ``windows``: those that the layers' indices point to.
    """
    packed = _matrix(head)
    if packed is None or norm.weight.dtype != torch.float32 or config.attention_softcap:
        return None
    described = [_layer(layer, windows) for layer in layers]
    parts = [part for part in described if part is not None]
    if not parts or len(parts) < len(described):
        return None
    model = ModelParts(
        layers=parts,
        norm=norm.weight,
        head=packed,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        rotary_half=(config.rotary_dim or config.head_dim) // 2,
        activation=config.activation,
        norm_eps=config.rms_norm_eps,
        attention_scale=config.attention_scale or config.head_dim**-0.5,
        residual_scale=config.residual_scale,
    )
    return NativeStep(DecodeStep(packed.core, model)) if model.is_supported else None


def _layer(layer: DecoderLayer, windows: Sequence[int]) -> LayerParts | None:
    mlp, qk_norm = layer.feed_forward, layer.qk_norm
    if not isinstance(mlp, GatedMLP) or not isinstance(qk_norm, HeadNorm | None):
        return None
    if any(b is not None for b in (layer.o_bias, mlp.gate_up_bias, mlp.down_bias)):
        return None
    qkv, o = _matrix(layer.qkv), _matrix(layer.o)
    gate_up, down = _matrix(mlp.gate_up), _matrix(mlp.down)
    if qkv is None or o is None or gate_up is None or down is None:
        return None
    return LayerParts(
        qkv=qkv,
        o=o,
        gate_up=gate_up,
        down=down,
        attention_norm=_weight(layer.attention_norm),
        post_attention_norm=_weight(layer.post_attention_norm),
        ffn_norm=_weight(layer.ffn_norm),
        post_ffn_norm=_weight(layer.post_ffn_norm),
        qk_norm=None if qk_norm is None else qk_norm.weight.contiguous(),
        qkv_bias=layer.qkv_bias,
        rotation=layer.rotation,
        window=windows[layer.window],
    )


def _matrix(linear: Linear) -> PackedMatrix | None:
    return linear.matrix if isinstance(linear, NativeLinear) else None


def _weight(norm: RMSNorm | None) -> torch.Tensor | None:
    return None if norm is None else norm.weight.contiguous()
