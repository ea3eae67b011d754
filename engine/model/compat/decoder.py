"""Runs a model of transformers on the engine's paged cache.

The requests of a batch are computed one after the other. Slower than the native decoder, and the
same in every other respect.
"""

import inspect
from collections import Counter
from collections.abc import Callable
from contextlib import nullcontext

import torch
from transformers import PreTrainedModel

from engine.api import Precision
from engine.errors import LoadCancelledError, ModelUnsupportedError
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardBatch, Segment
from engine.model.compat.dispatch import DevicePlan
from engine.model.compat.modules import is_expert_stack
from engine.model.compat.paged_cache import paged_cache, view_segment
from engine.model.compat.placing import Placer
from engine.model.compat.skeleton import build_skeleton
from engine.model.compat.source import Parameters
from engine.model.compat.timing import timed_layers
from engine.model.config import ModelConfig
from engine.model.part_clock import PartClock

_NOTE = "runs through the compatibility path; slower"
_MISFITS = (AttributeError, NotImplementedError, TypeError)


class CompatDecoder:
    """Satisfies ``engine.model.batch.Decoder``. Lives in one thread."""

    def __init__(
        self, source: Parameters, model: PreTrainedModel, placer: Placer, dtype: torch.dtype
    ) -> None:
        """Take a filled model."""
        self.config: ModelConfig = source.config
        self._path = str(source.folder)
        self._layer_shapes = source.layer_shapes
        self._model = model
        self._dtype = dtype
        self._device = placer.device_of("")
        self._weights_bytes = placer.nbytes
        self._products = Counter(product.kernel for product in placer.products)
        self._picks_rows = "logits_to_keep" in inspect.signature(model.forward).parameters
        self._has_run = False
        self._clock: PartClock | None = None  # of a pass that is timed

    @classmethod
    def build(
        cls,
        source: Parameters,
        precision: Precision,
        compute_dtype: torch.dtype,
        plan: DevicePlan,
        on_progress: Callable[[int, int], None],
        is_cancelled: Callable[[], bool],
    ) -> "CompatDecoder":
        """Read and pack all weights, one parameter at a time.

        ``on_progress(done, total)`` counts tensors. Raises LoadCancelledError soon after
        ``is_cancelled()`` turns true.
        """
        model = build_skeleton(source.settings, compute_dtype, source.folder)
        placer = Placer(model, precision, compute_dtype, plan.devices(model), str(source.folder))
        total = source.num_parameters
        for done, (name, value) in enumerate(source.parameters()):
            on_progress(min(done, total), total)
            if is_cancelled():
                raise LoadCancelledError("Loading was stopped.")
            placer.place(name, value)
        placer.finish()
        plan.connect(model)
        on_progress(total, total)
        if placer.device_of("").type == "cpu" and any(map(is_expert_stack, model.modules())):
            # the others gather the weights of each token's experts
            model.set_experts_implementation("eager")
        return cls(source, model, placer, compute_dtype)

    def set_context(self, context_length: int) -> None:
        """Nothing depends on it: transformers follows the length of each prompt."""

    def take_clock(self, clock: PartClock) -> None:
        """Note what each layer takes from now on; meant for a copy."""
        self._clock = clock

    @property
    def weights_bytes(self) -> int:
        """Bytes of all weights as allocated."""
        return self._weights_bytes

    @property
    def kernels(self) -> tuple[str, ...]:
        """The products in words, the most used first, and that this is the slower path."""
        kinds = [f"{kernel} ({count} matrices)" for kernel, count in self._products.most_common()]
        name = str(self._dtype).removeprefix("torch.")
        return (_NOTE, *(kinds or [f"{name} product (transformers)"]))

    @torch.inference_mode()
    def forward(
        self, batch: ForwardBatch, storage: PagedStorage, interrupted: Callable[[], bool]
    ) -> torch.Tensor:
        """Append the batch's K and V to ``storage`` and return logits, float32 [R, vocab_size].

        Calls ``interrupted()`` in every layer; raises ForwardInterruptedError when it is true, and
        ModelUnsupportedError when the model's own code cannot work with the products in it.
        """
        rows = batch.logit_rows.tolist()
        logits = torch.empty(len(rows), self.config.vocab_size, device=self._device)
        for segment in batch.segments:
            end = segment.start + segment.length
            wanted = [
                (i, row - segment.start)
                for i, row in enumerate(rows)
                if segment.start <= row < end
            ]
            try:
                picked = self._run(
                    batch, segment, storage, [row for _, row in wanted], interrupted
                )
            except _MISFITS as error:
                raise self._misfit(error) from error
            if wanted:
                logits[[i for i, _ in wanted]] = picked.to(self._device, torch.float32)
        self._has_run = True
        return logits

    def _run(
        self,
        batch: ForwardBatch,
        segment: Segment,
        storage: PagedStorage,
        rows: list[int],
        interrupted: Callable[[], bool],
    ) -> torch.Tensor:
        """Logits [len(rows), vocab] of these rows of the segment, one more row if there are none."""
        span = slice(segment.start, segment.start + segment.length)
        step = view_segment(storage, batch, segment, self._dtype, interrupted)
        ids = batch.token_ids[span].unsqueeze(0)
        picked = torch.tensor(rows or [segment.length - 1], device=self._device)
        options = {"logits_to_keep": picked} if self._picks_rows else {}
        cache = paged_cache(self._layer_shapes, step)
        watched = nullcontext() if self._clock is None else timed_layers(self._model, self._clock)
        with watched:
            logits: torch.Tensor = self._model(
                input_ids=ids, cache=cache, use_cache=True, **options
            ).logits
        return logits[0] if self._picks_rows else logits[0, picked]

    def _misfit(self, error: Exception) -> Exception:
        """A typed error for the first run of a model whose code and our modules do not match."""
        if self._has_run:
            return error
        return ModelUnsupportedError(
            f"The model at {self._path} cannot run with these weights; choose 16 or 32 bit weights"
            f" ({str(error)[:80]}).",
            path=self._path,
            feature=f"weights of this precision in {self.config.model_type}",
        )
