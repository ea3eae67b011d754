"""A native decoder whose first layers run on the CPU and whose others run on the GPU.

``engine.model.offload`` says where the cut is; the hidden state crosses it once a step.
"""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import torch

from engine.api import Precision
from engine.errors import LoadCancelledError
from engine.kv.split import SplitStorage
from engine.kv.storage import PagedStorage
from engine.model.attention import slots_by_window
from engine.model.batch import ForwardBatch, ForwardInterruptedError
from engine.model.builder import LayerBuilder
from engine.model.layer import DecoderLayer
from engine.model.native import NativeDecoder
from engine.model.part_clock import PartClock
from engine.model.source import WeightSource
from engine.quant.embedding import Embedding
from engine.quant.linear import make_linear


class Place(NamedTuple):
    """A device, the type it computes in, and where its layers come from (None: the model's source).

    The CPU packs weights that were quantised well beforehand; a graphics card's own kind of 4 bits
    is made of the wider ones.
    """

    device: torch.device
    dtype: torch.dtype
    source: WeightSource | None = None


class _Part(NativeDecoder):
    """Some consecutive layers, on one device. The first part embeds, the last makes logits."""

    @property
    def num_layers(self) -> int:
        """How many layers there are in this part."""
        return len(self._layers)

    @property
    def layer_bytes(self) -> int:
        """Bytes of the layers alone."""
        return sum(layer.nbytes for layer in self._layers)

    def embed(self, ids: torch.Tensor) -> torch.Tensor:
        """Ids [T] to the first hidden state [T, hidden]."""
        return self._embed(ids)

    def logits(self, x: torch.Tensor) -> torch.Tensor:
        """The last hidden state [R, hidden] to logits, float32 [R, vocab_size]."""
        return self._logits(x)

    def run(
        self,
        x: torch.Tensor,
        batch: ForwardBatch,
        pool: PagedStorage,
        interrupted: Callable[[], bool],
    ) -> torch.Tensor:
        """Take x [T, hidden] through the layers, whose K and V go to ``pool``; changes x."""
        x = x.to(self._device, self._dtype)
        attention = self._prepare_attention(batch, pool)
        slots = slots_by_window(batch, pool, self._windows)
        rotations = self._rotations_of(batch)
        num_heads, head_dim = self._heads.num_heads, self._heads.head_dim
        for index, layer in enumerate(self._layers):
            if interrupted():
                raise ForwardInterruptedError
            heads = layer.project(x, head_dim)
            table, cosines, sines = rotations[layer.rotation]
            table.rotate_(heads[:, : num_heads + self._heads.num_kv_heads], cosines, sines)
            pool.append(index, slots[layer.window], heads[:, num_heads:])
            layer.finish_(x, attention(index, heads[:, :num_heads], layer.window))
        return x

    def take(self, batch: ForwardBatch) -> ForwardBatch:
        """The batch on this part's device."""
        return replace(
            batch,
            positions=batch.positions.to(self._device),
            slots=batch.slots.to(self._device),
            logit_rows=batch.logit_rows.to(self._device),
            window_slots=tuple(slots.to(self._device) for slots in batch.window_slots),
        )


class OffloadedDecoder:
    """Satisfies ``engine.model.batch.Decoder``; its storage is a SplitStorage cut at the same layer."""

    def __init__(self, lower: _Part, upper: _Part, cpu_bytes: int, gpu_bytes: int) -> None:
        """Take both parts, and the bytes of the weights on each side."""
        self.config = lower.config
        self.cpu_bytes = cpu_bytes
        self.gpu_bytes = gpu_bytes
        self._cpu_layers = lower.num_layers
        self._lower = lower
        self._upper = upper

    @classmethod
    def build(
        cls,
        source: WeightSource,
        precision: Precision,
        cpu_layers: int,
        places: tuple[Place, Place],
        on_progress: Callable[[int, int], None],
        is_cancelled: Callable[[], bool],
    ) -> "OffloadedDecoder":
        """Read and pack all weights; ``places``: of the first ``cpu_layers``, and of the others.

        Progress and cancellation are those of NativeDecoder.build.
        """
        config, (cpu, gpu) = source.config, places
        builders = [LayerBuilder(p.source or source, precision, p.dtype, p.device) for p in places]
        table = Embedding(source.weight("embed"), cpu.dtype, cpu.device)
        head_name = "head" if source.has("head") else "embed"
        head = make_linear(source.weight(head_name), precision, gpu.dtype, gpu.device)
        layers: tuple[list[DecoderLayer], list[DecoderLayer]] = ([], [])
        for index in range(config.num_layers):
            on_progress(index + 1, config.num_layers + 2)
            if is_cancelled():
                raise LoadCancelledError("Loading was stopped.")
            side = int(index >= cpu_layers)
            layers[side].append(builders[side].layer(index))
        norms = [builder.norm("norm") for builder in builders]
        on_progress(config.num_layers + 2, config.num_layers + 2)
        lower, upper = (
            _Part(config, table, some, norm, head)
            for some, norm in zip(layers, norms, strict=True)
        )
        return cls(
            lower,
            upper,
            table.nbytes + lower.layer_bytes + norms[0].nbytes,
            head.nbytes + upper.layer_bytes + norms[1].nbytes,
        )

    def set_context(self, context_length: int) -> None:
        """Say how many tokens a request may have, at most."""
        self._lower.set_context(context_length)
        self._upper.set_context(context_length)

    def take_clock(self, clock: PartClock) -> None:
        """Note what each part takes from now on; meant for a copy."""
        self._lower, self._upper = copy.copy(self._lower), copy.copy(self._upper)
        self._lower.take_clock(clock)
        self._upper.take_clock(clock, self._cpu_layers)

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights as allocated, on both devices."""
        return self.cpu_bytes + self.gpu_bytes

    @property
    def kernels(self) -> tuple[str, ...]:
        """Which product runs each part, in words: where layers lie, the GPU's, the CPU's."""
        where = f"{self._cpu_layers} of {self.config.num_layers} layers on the CPU"
        return (where, *self._upper.kernels, *(f"CPU {k}" for k in self._lower.kernels[:-1]))

    @torch.inference_mode()
    def forward(
        self, batch: ForwardBatch, storage: PagedStorage, interrupted: Callable[[], bool]
    ) -> torch.Tensor:
        """Append the batch's K and V to ``storage`` and return logits, float32 [R, vocab_size].

        Calls ``interrupted()`` between layers; raises ForwardInterruptedError when it is true.
        """
        if not isinstance(storage, SplitStorage):
            raise TypeError("the layers lie on two devices, and the storage on one")
        lower_pool, upper_pool = storage.pools
        x = self._lower.run(self._lower.embed(batch.token_ids), batch, lower_pool, interrupted)
        batch = self._upper.take(batch)
        x = self._upper.run(x, batch, upper_pool, interrupted)
        return self._upper.logits(x[batch.logit_rows])
