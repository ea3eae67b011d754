"""Whole layers in native code: one call a step of decoding, or some where steps take long.

Of a long prompt each layer is a call of its own: in between, a step can be given up.

Takes a description of the layers made of packed matrices and norms, and the paged cache as
tensors. Knows no model family, no file and no request.

The slow twin is ``engine.model.native``, layer by layer through torch.
"""

import ctypes
import operator
import time
import weakref
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.config import KVFormat
from engine.kernels import abi
from engine.kernels.library import NativeCore
from engine.kernels.matrix import PackedMatrix

_FEW_ROWS = 32  # a step of so many rows takes milliseconds a layer at most
_PIECE_NS = 20_000_000  # so long it is not interrupted
_KV_TYPES = {
    KVFormat.FLOAT32: abi.KV_FP32,
    KVFormat.BFLOAT16: abi.KV_BF16,
    KVFormat.FLOAT16: abi.KV_FP16,
    KVFormat.INT8: abi.KV_INT8,
    KVFormat.INT4: abi.KV_INT4,
}
_MAX_QUERIES = 128  # rows of one attention job: kMaxQueries in native/state.h
_MAX_HEAD_DIM = 1024  # kMostHeadDim there
_SEGMENT_BYTES = 32  # of tt_segment: four int64
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
    """The paged cache of one kind of layers: written to by a step.

    ``pool``: [layers, 2 * kv_heads, slots, head_dim] in a floating format; the codes of a quantised
    one, whose scales and zeros are ``parameters``, with ``factors`` and ``centres`` (see
    ``engine.kv.quantized``). ``layers``: those of the model that it is of, in its own order (none:
    all).
    """

    kept: KVFormat
    pool: torch.Tensor
    parameters: torch.Tensor | None
    num_slots: int
    block_size: int
    layers: tuple[int, ...] = ()
    factors: torch.Tensor | None = None
    centres: torch.Tensor | None = None

    @property
    def is_readable(self) -> bool:
        """Whether the core reads it in place."""
        given = (self.pool, self.parameters, self.factors, self.centres)
        tensors = [tensor for tensor in given if tensor is not None]
        return (not self.kept.is_quantised or self.block_size % _VECTOR == 0) and all(
            tensor.device.type == "cpu" and tensor.is_contiguous() for tensor in tensors
        )


@dataclass(frozen=True, slots=True, eq=False)
class StepWindow:
    """The cache of layers that see a window, and where its tokens lie.

    ``slots``: as in the batch; ``tables``: the blocks of each of its segments.
    """

    cache: StepCache
    slots: torch.Tensor
    tables: Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True, eq=False)
class StepBatch:
    """What one step computes.

    embedded: float32 [T, hidden]; positions, slots: int64 [T]; logit_rows: int64 [R], R <= T.
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
        self._stride = len(parts.layers)  # layers in one call of a step of few rows
        self._batch = abi.Batch()  # what does not change from step to step stays in it
        self._kinds = (abi.Cache * 0)()
        self._caches: tuple[StepCache, ...] = ()
        self._cosines: Sequence[torch.Tensor] = ()  # of the tables that are described
        handle = core.library.tt_step_new(self._model)
        if not handle:
            raise MemoryError("not enough memory for a decoding step")
        self._handle: int = handle
        weakref.finalize(self, core.library.tt_step_free, handle)

    def run(
        self,
        batch: StepBatch,
        cache: StepCache,
        threads: int,
        interrupted: Callable[[], bool],
        windows: Sequence[StepWindow] = (),
    ) -> torch.Tensor | None:
        """Append the rows' K and V to ``cache`` and return logits, float32 [R, vocab_size].

        ``windows``: the caches of the layers that are not in ``cache``, of the same format and size
        of blocks. ``is_readable`` must be true of all. What is prepared of caches and
        rotations serves as long as the same ones come again. Returns None, with the step half done, when
        ``interrupted()`` turned true between two layers of many rows, or some time after it was
        asked the last time.
        """
        logits = torch.empty(batch.logit_rows.shape[0], self._vocab_size)
        _kept = self._describe(batch, cache, windows, logits)
        count = len(self._parts.layers)
        is_short = batch.embedded.shape[0] <= _FEW_ROWS
        stride = self._stride if is_short else 1
        team = self._core.team(threads)
        start_ns = time.perf_counter_ns()
        for first in range(0, count, stride):
            if interrupted():
                return None
            failed = self._core.library.tt_step_run(
                self._handle, team, threads, self._batch, first, min(first + stride, count)
            )
            if failed:
                raise MemoryError("not enough memory for the rows of a step")
        if is_short:
            step_ns = max(1, time.perf_counter_ns() - start_ns)
            self._stride = max(1, min(count, count * _PIECE_NS // step_ns))
        return logits

    def _describe(
        self,
        batch: StepBatch,
        cache: StepCache,
        windows: Sequence[StepWindow],
        logits: torch.Tensor,
    ) -> object:
        """Fill in the batch in the core's terms; returns what must stay alive as long as that."""
        caches = (cache, *(window.cache for window in windows))
        if not _are_same(self._caches, caches):
            self._take_caches(caches)
        if not _are_same(self._cosines, [rows.cosines for rows in batch.rotations]):
            self._take_rotations(batch.rotations)
        # all segments with the tables of the first cache, then with those of the next
        numbers, blocks = array("q"), array("q")
        for segment in batch.segments:
            numbers.extend((segment.start, segment.length, segment.context, len(blocks)))
            blocks.extend(segment.block_ids)
        for window in windows:
            for segment, table in zip(batch.segments, window.tables, strict=True):
                numbers.extend((segment.start, segment.length, segment.context, len(blocks)))
                blocks.extend(table)
        address = numbers.buffer_info()[0]
        slots = (batch.slots, *(window.slots for window in windows))
        for kind, own_slots in zip(self._kinds, slots, strict=True):
            kind.segments, kind.slots = address, own_slots.data_ptr()
            address += _SEGMENT_BYTES * len(batch.segments)
        struct = self._batch
        struct.embedded = batch.embedded.data_ptr()
        struct.positions = batch.positions.data_ptr()
        struct.logit_rows = batch.logit_rows.data_ptr()
        struct.blocks = blocks.buffer_info()[0]
        struct.logits = logits.data_ptr()
        struct.rows, struct.num_logits = batch.embedded.shape[0], logits.shape[0]
        struct.num_segments = len(batch.segments)
        struct.part_ns = batch.part_ns
        return numbers, blocks

    def _take_caches(self, caches: tuple[StepCache, ...]) -> None:
        """Describe caches that the step before did not have."""
        first, count = caches[0], len(self._parts.layers)
        kinds, places = (ctypes.c_int32 * count)(), (ctypes.c_int32 * count)()
        self._kinds = (abi.Cache * len(caches))()
        for index, (cache, kind) in enumerate(zip(caches, self._kinds, strict=True)):
            kind.pool = cache.pool.data_ptr()
            kind.parameters = _pointer(cache.parameters)
            kind.factors, kind.centres = _pointer(cache.factors), _pointer(cache.centres)
            kind.num_slots = cache.num_slots
            for place, layer in enumerate(cache.layers or range(count)):
                kinds[layer], places[layer] = index, place
        struct = self._batch
        struct.caches, struct.kinds, struct.places = self._kinds, kinds, places
        struct.block_size, struct.kv_type = first.block_size, _KV_TYPES[first.kept]
        self._caches = caches

    def _take_rotations(self, rotations: Sequence[RotaryRows]) -> None:
        """Describe tables that the step before did not have, or that have grown since."""
        self._batch.rotations = (abi.Rotation * len(rotations))(
            *(
                abi.Rotation(r.cosines.data_ptr(), r.sines.data_ptr(), r.cosines.stride(0))
                for r in rotations
            )
        )
        self._cosines = [rows.cosines for rows in rotations]


def _are_same(before: Sequence[object], now: Sequence[object]) -> bool:
    """Whether they are the very same objects."""
    return len(before) == len(now) and all(map(operator.is_, before, now))


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
