"""The native decoder: runs every family that ``engine.model.architectures`` declares.

Reads weights from a WeightSource and products from engine.quant; knows no file format and no
scheduler. What sets families apart was decided when the layers were built.
"""

from collections.abc import Callable, Sequence

import torch

from engine.api import Precision
from engine.api.profile import Part
from engine.errors import LoadCancelledError
from engine.kv.storage import PagedStorage
from engine.model.attention import HeadLayout, StepAttention, slots_by_window
from engine.model.batch import ForwardBatch, ForwardInterruptedError
from engine.model.builder import LayerBuilder, layer_rotations, layer_windows
from engine.model.captured.rows import DecoderShape, PagedRows
from engine.model.captured.steps import CapturedSteps, capture_on
from engine.model.config import ModelConfig
from engine.model.layer import DecoderLayer
from engine.model.native_step import NativeStep, make_native_step
from engine.model.norm import RMSNorm
from engine.model.part_clock import Attend, PartClock, TimedLinear, timed_attention, timed_layer
from engine.model.rope import RotaryTable, attention_factor, inverse_frequencies
from engine.model.source import WeightSource
from engine.quant.embedding import Embedding
from engine.quant.linear import Linear

_FEW_ROWS = 32  # a step of so many rows keeps their memory for the next one


class NativeDecoder:
    """Satisfies ``engine.model.batch.Decoder``. Lives on one device, in one thread."""

    def __init__(
        self,
        config: ModelConfig,
        embedding: Embedding,
        layers: Sequence[DecoderLayer],
        norm: RMSNorm,
        head: Linear,
    ) -> None:
        """Take prepared weights; the dtype and device of ``norm`` are those of the computation."""
        self.config = config
        self._embedding = embedding
        self._layers = tuple(layers)
        self._norm = norm
        self._head: Linear = head
        self._dtype = norm.weight.dtype
        self._device = norm.weight.device
        self._heads = HeadLayout(
            config.num_heads, config.num_kv_heads, config.head_dim, config.attention_softcap
        )
        self._windows = layer_windows(config)
        scales = torch.ones(config.num_heads + config.num_kv_heads, 1, dtype=self._dtype)
        scales[: config.num_heads] = config.attention_scale or config.head_dim**-0.5
        self._head_scales = scales.to(self._device)
        self._step = make_native_step(config, self._layers, norm, head, self._windows)
        self._captured: CapturedSteps | None = None
        self._clock: PartClock | None = None  # of a pass that is timed
        self._first_layer = 0
        self._rows = torch.empty(0)
        self.set_context(config.max_position_embeddings)

    @classmethod
    def build(
        cls,
        source: WeightSource,
        precision: Precision,
        compute_dtype: torch.dtype,
        device: torch.device,
        on_progress: Callable[[int, int], None],
        is_cancelled: Callable[[], bool],
    ) -> "NativeDecoder":
        """Read and pack all weights, one layer at a time.

        ``on_progress(done, total)`` counts parts: the embedding, each layer, the head.
        Raises LoadCancelledError soon after ``is_cancelled()`` turns true.
        """
        builder = LayerBuilder(source, precision, compute_dtype, device)
        config = source.config
        total = config.num_layers + 2
        embedding, head = builder.ends()
        layers: list[DecoderLayer] = []
        for index in range(config.num_layers):
            on_progress(index + 1, total)
            if is_cancelled():
                raise LoadCancelledError("Loading was stopped.")
            layers.append(builder.layer(index))
        on_progress(total - 1, total)
        norm = builder.norm("norm")
        on_progress(total, total)
        decoder = cls(config, embedding, layers, norm, head)
        decoder.capture_with(capture_on(device, layers, head))
        return decoder

    def capture_with(self, captured: CapturedSteps | None) -> None:
        """Run decode steps through ``captured`` where it takes them; None: kernel by kernel."""
        self._captured = captured

    def set_context(self, context_length: int) -> None:
        """Say how many tokens a request may have, at most.

        Some rope scalings rotate all positions otherwise for a long context than for a short one,
        so that a cache filled before the call is not valid after it. Until the first call, the
        trained context counts.
        """
        self._tables = tuple(
            self._rotary_table(rotation, context_length)
            for rotation in layer_rotations(self.config)
        )
        self._context_length = context_length
        self._num_positions = 0
        if self._captured is not None:
            self._captured.forget()

    def reserve(self, num_positions: int) -> None:
        """Tabulate positions [0, num_positions); those that a request's blocks reach are anyway."""
        if num_positions <= self._num_positions:
            return
        is_growing = any(table.num_positions < num_positions for table in self._tables)
        if is_growing and self._captured is not None:
            self._captured.drop()
        for table in self._tables:
            table.reserve(num_positions)
        self._num_positions = min(table.num_positions for table in self._tables)

    def _rotary_table(self, rotation: float, context_length: int) -> RotaryTable:
        """``rotation`` as from ``layer_rotation``; frequencies of 0 only apply the head scales."""
        config = self.config
        rotary_dim = config.rotary_dim or config.head_dim
        factor = 1.0
        if rotation < 0:
            frequencies = torch.zeros(rotary_dim // 2)
        elif rotation > 0:
            frequencies = inverse_frequencies(rotary_dim, rotation)
        else:
            scaling = config.rope_scaling
            frequencies = inverse_frequencies(
                rotary_dim, config.rope_theta, scaling, context_length
            )
            factor = attention_factor(scaling)
        return RotaryTable(frequencies, self._dtype, self._device, config.head_dim, factor)

    def take_clock(self, clock: PartClock, first_layer: int = 0) -> None:
        """Note what each part takes from now on; the first layer is the clock's ``first_layer``.

        Meant for a copy of a decoder, see ``engine.model.part_clock``.
        """
        self._clock, self._first_layer = clock, first_layer
        self._captured = None
        self._layers = tuple(
            timed_layer(layer, clock, index)
            for index, layer in enumerate(self._layers, first_layer)
        )
        head = (None, Part.HEAD)
        self._head = TimedLinear(self._head, clock, head, head)

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights as allocated."""
        return (
            self._embedding.nbytes
            + self._head.nbytes
            + self._norm.nbytes
            + sum(layer.nbytes for layer in self._layers)
        )

    @property
    def kernels(self) -> tuple[str, ...]:
        """Which product runs each part, in words: "qkv: ...", as in the first layer."""
        first = self._layers[0]
        parts = {"qkv": first.qkv, "o": first.o, **first.feed_forward.products}
        parts["head"] = self._head
        lines = tuple(f"{name}: {linear.kernel}" for name, linear in parts.items())
        if self._step is not None:
            lines += ("layers: one native call a step",)
        return lines if self._captured is None else (*lines, self._captured.fact)

    def forward(
        self,
        batch: ForwardBatch,
        storage: PagedStorage,
        interrupted: Callable[[], bool],
        watch: Callable[[int, torch.Tensor], None] | None = None,
    ) -> torch.Tensor:
        """Append the batch's K and V to ``storage`` and return logits, float32 [R, vocab_size].

        Calls ``interrupted()`` between layers; raises ForwardInterruptedError when it is true.
        ``watch`` is shown each layer's rotated queries and keys, [T, heads + kv_heads, head_dim].
        """
        if watch is None and self._step is not None and self._step.can_read(storage):
            return self._run_native(self._step, batch, storage, interrupted)
        return self._run_layers(batch, storage, interrupted, watch)

    @torch.inference_mode()
    def _run_layers(
        self,
        batch: ForwardBatch,
        storage: PagedStorage,
        interrupted: Callable[[], bool],
        watch: Callable[[int, torch.Tensor], None] | None,
    ) -> torch.Tensor:
        """The forward pass through torch."""
        if watch is None and self._captured is not None:
            self._captured.take(storage, self._shape)
            logits = self._captured.run(self, batch, interrupted)
            if logits is not None:
                return logits
        attention = self._prepare_attention(batch, storage)
        slots = slots_by_window(batch, storage, self._windows)
        rotations = self._rotations_of(batch)
        num_heads, head_dim = self._heads.num_heads, self._heads.head_dim
        rotated = num_heads + self._heads.num_kv_heads
        x = self._embed(batch.token_ids)
        rows = batch.logit_rows
        last = len(self._layers) - 1
        for index, layer in enumerate(self._layers):
            if interrupted():
                raise ForwardInterruptedError
            heads = layer.project(x, head_dim)
            table, cosines, sines = rotations[layer.rotation]
            table.rotate_(heads[:, :rotated], cosines, sines)
            if watch is not None:
                watch(index, heads[:, :rotated])
            storage.append(index, slots[layer.window], heads[:, num_heads:])
            if index == last and rows.shape[0] == 0:
                return torch.empty(0, self.config.vocab_size, device=self._device)
            mixed = attention(index, heads[:, :num_heads], layer.window)
            if index == last and rows.shape[0] < x.shape[0]:
                # no later layer reads the others
                x, mixed = x[rows], mixed[rows]
            layer.finish_(x, mixed)
        return self._logits(x)

    @property
    def _shape(self) -> DecoderShape:
        """What captured steps depend on."""
        windows = tuple(self._windows)
        return DecoderShape(self._heads, windows, self._dtype, self._context_length)

    def decode(
        self, token_ids: torch.Tensor, positions: torch.Tensor, rows: PagedRows
    ) -> torch.Tensor:
        """As ``forward``, of one token a row, without a look at any value: it can be captured.

        ``token_ids``, ``positions``: int64 [T], all reserved; logits are those of all rows.
        """
        rotations = [(table, *table.rows(positions, self._head_scales)) for table in self._tables]
        num_heads, head_dim = self._heads.num_heads, self._heads.head_dim
        rotated = num_heads + self._heads.num_kv_heads
        x = self._embed(token_ids)
        for index, layer in enumerate(self._layers):
            heads = layer.project(x, head_dim)
            table, cosines, sines = rotations[layer.rotation]
            table.rotate_(heads[:, :rotated], cosines, sines)
            rows.append(index, heads[:, num_heads:])
            layer.finish_(x, rows.attend(index, heads[:, :num_heads], layer.window))
        return self._logits(x)

    def _run_native(
        self,
        step: NativeStep,
        batch: ForwardBatch,
        storage: PagedStorage,
        interrupted: Callable[[], bool],
    ) -> torch.Tensor:
        self._reserve(batch)
        embedded = self._embed(batch.token_ids, self._rows_of_last_step(batch.token_ids.shape[0]))
        logits = step.run(batch, embedded, storage, self._tables, interrupted, self._clock)
        return self._scale_logits_(logits)

    def _rows_of_last_step(self, count: int) -> torch.Tensor | None:
        """Memory for a step's embedded rows, which nobody needs after it; None for many."""
        if self._rows.shape[0] != count:
            if count > _FEW_ROWS:
                return None
            with torch.inference_mode(mode=False):  # written to in either mode
                self._rows = torch.empty(count, self.config.hidden_size)
        return self._rows

    def _embed(self, ids: torch.Tensor, out: torch.Tensor | None = None) -> torch.Tensor:
        if self._clock is not None:
            self._clock.lap(None, Part.OTHER)
        x = self._embedding(ids, out)
        if self.config.embedding_scale != 1.0:
            x.mul_(self.config.embedding_scale)
        if self._clock is not None:
            self._clock.lap(None, Part.EMBED)
        return x

    def _prepare_attention(self, batch: ForwardBatch, storage: PagedStorage) -> Attend:
        attention = StepAttention(batch, storage, self._heads, self._dtype, self._windows)
        if self._clock is None:
            return attention
        return timed_attention(attention, self._clock, self._first_layer)

    def _rotations_of(
        self, batch: ForwardBatch
    ) -> list[tuple[RotaryTable, torch.Tensor, torch.Tensor]]:
        """Each table with its cosines and sines for this step."""
        self._reserve(batch)
        return [(table, *table.rows(batch.positions, self._head_scales)) for table in self._tables]

    def _reserve(self, batch: ForwardBatch) -> None:
        self.reserve(max(s.context + s.length for s in batch.segments))

    def _logits(self, x: torch.Tensor) -> torch.Tensor:
        return self._scale_logits_(self._head(self._norm(x)).float())

    def _scale_logits_(self, logits: torch.Tensor) -> torch.Tensor:
        if self.config.logit_scale != 1.0:
            logits *= self.config.logit_scale
        cap = self.config.logit_softcap
        return logits.div_(cap).tanh_().mul_(cap) if cap else logits
