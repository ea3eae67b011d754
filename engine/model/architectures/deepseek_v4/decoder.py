"""The decoder of DeepSeek-V4: runs flat batches of several requests on a compressed cache."""

from collections.abc import Callable, Sequence

import torch

from engine.api import Precision
from engine.api.profile import Part
from engine.errors import LoadCancelledError
from engine.kv.compressed import CompressedStorage
from engine.kv.storage import PagedStorage
from engine.model.architectures.deepseek_v4.builder import V4Builder
from engine.model.architectures.deepseek_v4.config import V4Config
from engine.model.architectures.deepseek_v4.hyper import HyperHead
from engine.model.architectures.deepseek_v4.layer import StepRows, V4Layer
from engine.model.architectures.deepseek_v4.rotary import Rotation
from engine.model.architectures.deepseek_v4.source import V4Weights
from engine.model.batch import ForwardBatch, ForwardInterruptedError
from engine.model.norm import RMSNorm
from engine.model.part_clock import PartClock, TimedLinear, layers_apart
from engine.quant.embedding import Embedding
from engine.quant.linear import Linear


class V4Decoder:
    """Satisfies ``engine.model.batch.Decoder``. Lives on one device, in one thread."""

    def __init__(
        self,
        config: V4Config,
        ends: tuple[Embedding, Linear],
        layers: Sequence[V4Layer],
        collapse: HyperHead,
        norm: RMSNorm,
    ) -> None:
        """Take prepared weights; ``ends``: the embedding and the head."""
        self.config = config
        self._embedding = ends[0]
        self._head: Linear = ends[1]
        self._clock: PartClock | None = None  # of a pass that is timed
        self._layers = tuple(layers)
        self._collapse = collapse
        self._norm = norm
        self._device = norm.weight.device
        base = config.base
        scalings = (
            (base.rope_theta, base.rope_scaling),
            (config.compress_theta, config.compress_scaling),
        )
        self._rotations = tuple(
            Rotation(config.rotary_dim, theta, scaling, self._device)
            for theta, scaling in scalings
        )

    @classmethod
    def build(
        cls,
        source: V4Weights,
        precision: Precision,
        compute_dtype: torch.dtype,
        device: torch.device,
        on_progress: Callable[[int, int], None],
        is_cancelled: Callable[[], bool],
    ) -> "V4Decoder":
        """Read and pack all weights, one layer at a time.

        ``on_progress(done, total)`` counts parts: the embedding, each layer, the head.
        Raises LoadCancelledError soon after ``is_cancelled()`` turns true.
        """
        builder = V4Builder(source, precision, compute_dtype, device)
        total = source.v4.base.num_layers + 2
        ends = builder.ends()
        layers: list[V4Layer] = []
        for index in range(source.v4.base.num_layers):
            on_progress(index + 1, total)
            if is_cancelled():
                raise LoadCancelledError("Loading was stopped.")
            layers.append(builder.layer(index))
        on_progress(total - 1, total)
        collapse, norm = builder.hyper_head(), builder.norm("norm")
        on_progress(total, total)
        return cls(source.v4, ends, layers, collapse, norm)

    @property
    def layers(self) -> tuple[V4Layer, ...]:
        """The layers, from the first to the last."""
        return self._layers

    @property
    def rotations(self) -> tuple[Rotation, ...]:
        """That of the sliding layers, and that of the others."""
        return self._rotations

    def set_context(self, context_length: int) -> None:
        """Nothing depends on it: the rotation is that of the trained context."""

    def take_clock(self, clock: PartClock) -> None:
        """Note what each layer and the head take from now on; meant for a copy."""
        self._clock = clock
        last = len(self._layers) - 1
        self._head = TimedLinear(self._head, clock, (last, Part.OTHER), (None, Part.HEAD))

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights as allocated."""
        ends = self._embedding.nbytes + self._head.nbytes + self._collapse.nbytes
        return ends + self._norm.nbytes + sum(layer.nbytes for layer in self._layers)

    @property
    def kernels(self) -> tuple[str, ...]:
        """Which product runs each part, in words: "queries: ...", as in the first layer."""
        first = self._layers[0]
        attention = first.attention
        parts = {
            "inputs": attention.inputs,
            "queries": attention.queries,
            "o": attention.output.out,
            **first.experts.products,
            "head": self._head,
        }
        return tuple(f"{name}: {linear.kernel}" for name, linear in parts.items())

    @torch.inference_mode()
    def forward(
        self, batch: ForwardBatch, storage: PagedStorage, interrupted: Callable[[], bool]
    ) -> torch.Tensor:
        """Add the batch to ``storage``, a CompressedStorage, and return logits, float32 [R, vocab].

        Calls ``interrupted()`` between layers; raises ForwardInterruptedError when it is true: the
        requests' states are then as if the step had not begun.
        """
        if not isinstance(storage, CompressedStorage):
            raise TypeError("compressed attention needs a compressed cache")
        if self._clock is not None:
            interrupted = layers_apart(interrupted, self._clock)
        rows = self._rows(batch, storage)
        wanted = batch.logit_rows
        streams = self._embedding(batch.token_ids).unsqueeze(1)
        streams = streams.repeat(1, self.config.streams, 1)
        last = len(self._layers) - 1
        ids = batch.token_ids
        for index, layer in enumerate(self._layers):
            if interrupted():
                raise ForwardInterruptedError
            streams = layer.attend(streams, rows, self._rotations)
            if index == last:
                # no later layer reads the others
                streams, ids = streams[wanted], ids[wanted]
            if ids.shape[0]:
                streams = layer.transform(streams, ids)
        for step in rows.steps:
            step.finish()
        if not wanted.shape[0]:
            return torch.empty(0, self.config.base.vocab_size, device=self._device)
        return self._head(self._norm(self._collapse(streams))).float()

    def _rows(self, batch: ForwardBatch, storage: CompressedStorage) -> StepRows:
        return StepRows(
            steps=tuple(storage.begin(s.block_ids, s.context, s.length) for s in batch.segments),
            starts=tuple(segment.start for segment in batch.segments),
            positions=batch.positions,
            turns=tuple(rotation.turns(batch.positions) for rotation in self._rotations),
        )
