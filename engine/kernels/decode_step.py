"""Whole layers in native code: one call a step of decoding, one a layer of a long prompt.

Takes a description of the layers made of packed matrices and norms, and the paged cache as
tensors. Knows no model family, no file and no request.

The slow twin is ``engine.model.native``, layer by layer through torch.
"""

import ctypes
import weakref
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.config import KVFormat
from engine.kernels import abi
from engine.kernels.library import NativeCore
from engine.kernels.matrix import PackedMatrix

_FEW_ROWS = 32  # a step of so many rows takes milliseconds, and is not interrupted
_KV_TYPES = {
    KVFormat.FLOAT32: abi.KV_FP32,
    KVFormat.BFLOAT16: abi.KV_BF16,
    KVFormat.FLOAT16: abi.KV_FP16,
    KVFormat.INT8: abi.KV_INT8,
    KVFormat.INT4: abi.KV_INT4,
}
_MAX_QUERIES = 128  # rows of one attention job: kMaxQueries in native/state.h
_MAX_HEAD_DIM = 1024  # kMostHeadDim there
_VECTOR = 16  # keys that are scored together: kVector in native/cache.h


@dataclass(frozen=True, slots=True, eq=False)
class LayerParts:
    """The weights of one layer; norms and biases are contiguous float32, None where absent.

    ``qkv``: the rows of q, k and v; ``gate_up``: those of gate before those of up. ``qk_norm``:
    [heads + kv_heads, head_dim]. ``rotation``: index of the rotary table. ``window``: tokens that
    are seen, the own one included (0: all).
    """

    qkv: PackedMatrix
    o: PackedMatrix
    gate_up: PackedMatrix
    down: PackedMatrix
    attention_norm: torch.Tensor | None = None
    post_attention_norm: torch.Tensor | None = None
    ffn_norm: torch.Tensor | None = None
    post_ffn_norm: torch.Tensor | None = None
    qk_norm: torch.Tensor | None = None
    qkv_bias: torch.Tensor | None = None
    rotation: int = 0
    window: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class ModelParts:
    """All layers, the last norm and the head. ``rotary_half``: pairs of a head that rotate."""

    layers: Sequence[LayerParts]
    norm: torch.Tensor
    head: PackedMatrix
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rotary_half: int
    activation: str
    norm_eps: float
    attention_scale: float
    residual_scale: float = 1.0

    @property
    def is_supported(self) -> bool:
        """Whether these sizes are ones that the core's vectors divide."""
        hidden, intermediate = self.layers[0].o.shape[0], self.layers[0].down.shape[1]
        return (
            hidden % 32 == intermediate % 32 == self.head_dim % 32 == 0
            and self.rotary_half % 16 == 0
            and self.head_dim <= _MAX_HEAD_DIM
            and self.num_heads // self.num_kv_heads <= _MAX_QUERIES
            and self.activation in abi.ACTIVATIONS
        )


@dataclass(frozen=True, slots=True)
class StepSegment:
    """Rows [start, start + length) are tokens [context, context + length) of one request."""

    start: int
    length: int
    context: int
    block_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RotaryRows:
    """Cosines and sines by position: float32, rotary_half values at the start of each row."""

    cosines: torch.Tensor
    sines: torch.Tensor


@dataclass(frozen=True, slots=True, eq=False)
class StepCache:
    """The paged cache: written to by a step.

    ``pool``: [layers, 2 * kv_heads, slots, head_dim] in a floating format; the codes of a quantised
    one, whose scales and zeros are ``parameters`` (see ``engine.kv.quantized``).
    """

    kept: KVFormat
    pool: torch.Tensor
    parameters: torch.Tensor | None
    num_slots: int
    block_size: int

    @property
    def is_readable(self) -> bool:
        """Whether the core reads it in place."""
        tensors = (self.pool,) if self.parameters is None else (self.pool, self.parameters)
        return (not self.kept.is_quantised or self.block_size % _VECTOR == 0) and all(
            tensor.device.type == "cpu" and tensor.is_contiguous() for tensor in tensors
        )


@dataclass(frozen=True, slots=True, eq=False)
class StepBatch:
    """What one step computes.

    embedded: float32 [T, hidden]; positions, slots: int64 [T]; logit_rows: int64 [R], R <= T;
    rotations by index, long enough for all positions. part_ns: address of int64
    [layers + 1, parts of engine.api.Part], the last row for what is outside the layers: what each
    part took is added there, in nanoseconds (None: no clock is read).
    """

    embedded: torch.Tensor
    positions: torch.Tensor
    slots: torch.Tensor
    logit_rows: torch.Tensor
    segments: Sequence[StepSegment]
    rotations: Sequence[RotaryRows]
    part_ns: int | None = None


class DecodeStep:
    """The layers of one model, ready to run. For one thread at a time."""

    def __init__(self, core: NativeCore, parts: ModelParts) -> None:
        """Describe ``parts`` to the core; ``parts.is_supported`` must be true."""
        self._core = core
        self._parts = parts
        self._layers = (abi.Layer * len(parts.layers))(*map(_layer, parts.layers))
        self._model = _model(parts, self._layers)
        self._vocab_size = parts.head.shape[0]
        handle = core.library.tt_step_new(self._model)
        if not handle:
            raise MemoryError("not enough memory for a decoding step")
        self._handle: int = handle
        weakref.finalize(self, core.library.tt_step_free, handle)

    def run(
        self, batch: StepBatch, cache: StepCache, threads: int, interrupted: Callable[[], bool]
    ) -> torch.Tensor | None:
        """Append the rows' K and V to ``cache`` and return logits, float32 [R, vocab_size].

        ``cache.is_readable`` must be true. Returns None, with the step half done, when
        ``interrupted()`` turned true between two layers of many rows.
        """
        logits = torch.empty(batch.logit_rows.shape[0], self._vocab_size)
        struct, _kept = _batch(batch, cache, logits)
        count = len(self._parts.layers)
        stride = count if batch.embedded.shape[0] <= _FEW_ROWS else 1
        for first in range(0, count, stride):
            if interrupted():
                return None
            failed = self._core.library.tt_step_run(
                self._handle, self._core.team(threads), threads, struct, first, first + stride
            )
            if failed:
                raise MemoryError("not enough memory for the rows of a step")
        return logits


def _pointer(tensor: torch.Tensor | None) -> int | None:
    return None if tensor is None else tensor.data_ptr()


def _layer(parts: LayerParts) -> abi.Layer:
    return abi.Layer(
        *(ctypes.pointer(m.struct) for m in (parts.qkv, parts.o, parts.gate_up, parts.down)),
        _pointer(parts.attention_norm),
        _pointer(parts.post_attention_norm),
        _pointer(parts.ffn_norm),
        _pointer(parts.post_ffn_norm),
        _pointer(parts.qk_norm),
        _pointer(parts.qkv_bias),
        parts.rotation,
        parts.window,
    )


def _model(parts: ModelParts, layers: "ctypes.Array[abi.Layer]") -> abi.Model:
    first = parts.layers[0]
    return abi.Model(
        layers=ctypes.cast(layers, ctypes.POINTER(abi.Layer)),
        head=ctypes.pointer(parts.head.struct),
        norm=parts.norm.data_ptr(),
        hidden=first.o.shape[0],
        intermediate=first.down.shape[1],
        num_layers=len(parts.layers),
        num_heads=parts.num_heads,
        num_kv_heads=parts.num_kv_heads,
        head_dim=parts.head_dim,
        rotary_half=parts.rotary_half,
        activation=abi.ACTIVATIONS[parts.activation],
        norm_eps=parts.norm_eps,
        attention_scale=parts.attention_scale,
        residual_scale=parts.residual_scale,
    )


def _batch(batch: StepBatch, cache: StepCache, logits: torch.Tensor) -> tuple[abi.Batch, object]:
    """The batch in the core's terms, and what must stay alive as long as it is used."""
    blocks = array("q")
    segments = (abi.Segment * len(batch.segments))()
    for struct, segment in zip(segments, batch.segments, strict=True):
        struct.start, struct.length = segment.start, segment.length
        struct.context, struct.first_block = segment.context, len(blocks)
        blocks.extend(segment.block_ids)
    rotations = (abi.Rotation * len(batch.rotations))(
        *(
            abi.Rotation(r.cosines.data_ptr(), r.sines.data_ptr(), r.cosines.stride(0))
            for r in batch.rotations
        )
    )
    address, length = blocks.buffer_info()
    block_array = (ctypes.c_int64 * length).from_address(address)
    struct = abi.Batch(
        embedded=batch.embedded.data_ptr(),
        positions=batch.positions.data_ptr(),
        slots=batch.slots.data_ptr(),
        logit_rows=batch.logit_rows.data_ptr(),
        segments=ctypes.cast(segments, ctypes.POINTER(abi.Segment)),
        blocks=ctypes.cast(block_array, ctypes.POINTER(ctypes.c_int64)),
        rotations=ctypes.cast(rotations, ctypes.POINTER(abi.Rotation)),
        pool=cache.pool.data_ptr(),
        parameters=_pointer(cache.parameters),
        logits=logits.data_ptr(),
        rows=batch.embedded.shape[0],
        num_logits=logits.shape[0],
        num_segments=len(batch.segments),
        num_slots=cache.num_slots,
        block_size=cache.block_size,
        kv_type=_KV_TYPES[cache.kept],
        part_ns=batch.part_ns,
    )
    return struct, (blocks, block_array, segments, rotations)
