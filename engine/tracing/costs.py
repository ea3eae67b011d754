"""What a loaded model's steps cost by the ceilings of this machine: bytes, arithmetic, seconds.

The planner's own formulas, with the model as it was loaded and the context as it was.
"""

from engine.api import KeptBytes, KVPrecision, ModelInfo, Precision
from engine.config import KVFormat
from engine.diagnosis.observation import Offload, PrefillCost, StepCost
from engine.errors import EngineError
from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import (
    attention_flops,
    cache_bytes,
    cache_bytes_read,
    held_cache_bytes,
)
from engine.model.footprint.setup import Setup
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import head_bytes
from engine.planner.find import find_blueprint
from engine.planner.speed import decode_flops, runs_natively, weight_bytes_read
from engine.roofline.ceilings import Ceilings

_PRECISIONS = (Precision.INT4, Precision.INT8, Precision.BF16, Precision.FP32)
_KV = {
    KVFormat.FLOAT32: KVPrecision.FP32,
    KVFormat.FLOAT16: KVPrecision.BF16,
    KVFormat.BFLOAT16: KVPrecision.BF16,
    KVFormat.INT8: KVPrecision.INT8,
    KVFormat.INT4: KVPrecision.INT4,
}


class ModelCosts:
    """Costs of one loaded model on this machine. Imports torch where the target must be tried."""

    def __init__(
        self, info: ModelInfo, ceilings: Ceilings | None, of_all_cores: Ceilings | None = None
    ) -> None:
        """Read the model's header again.

        With ``ceilings`` None, or a model that no plan can be made for, every cost is None.
        ``of_all_cores``: those of a model that runs on more threads.
        """
        self._info = info
        self._is_cuda = info.device.value == "cuda"
        self._kv = _KV[KVFormat(info.kv_dtype)]
        self._target = target_of(info.device)
        self.ceilings = None if ceilings is None else ceilings.of(is_cuda=self._is_cuda)
        self._more = None if self._is_cuda else of_all_cores
        self._host = None if ceilings is None else ceilings.of(is_cuda=False)
        self._weight_bytes: dict[Precision, int] = {}
        try:
            self._blueprint: Blueprint | None = find_blueprint(info.path)
        except EngineError:  # models that only the compatibility path can read
            self._blueprint = None

    @property
    def is_native(self) -> bool:
        """Whether a step is one call of the native core."""
        return any(line.startswith("layers: one native call") for line in self._info.kernels)

    def step(self, context: int) -> StepCost | None:
        """A decode step of one answer after ``context`` tokens, as the model was loaded."""
        return self._step(context, self._info.precision, self._kv)

    def more_threads(self, context: int) -> dict[int, StepCost]:
        """The same on more threads, where their ceilings are known."""
        more, info = self._more, self._info
        if more is None or self.ceilings is None or more.threads <= info.threads:
            return {}
        cost = self._cost(context, info.precision, self._kv, more)
        return {} if cost is None else {more.threads: cost}

    def other_weights(self, context: int) -> dict[str, StepCost]:
        """The same with weights of each other precision."""
        others = {p.value: self._step(context, p, self._kv) for p in _PRECISIONS}
        return {
            name: cost
            for name, cost in others.items()
            if cost is not None and name != self._info.precision.value
        }

    def other_kv(self, context: int) -> dict[str, StepCost]:
        """The same with each other way of keeping the cache that suits the model."""
        kept = {k: form for form, k in _KV.items() if form.can_keep(self._info.head_dim)}
        others = {kv.value: self._step(context, self._info.precision, kv) for kv in kept}
        return {
            name: cost
            for name, cost in others.items()
            if cost is not None and name != self._kv.value
        }

    def prefill(self, prompt: int, cached: int) -> PrefillCost | None:
        """The arithmetic of the tokens of a prompt behind those from the cache."""
        blueprint, ceilings = self._blueprint, self.ceilings
        if blueprint is None or ceilings is None:
            return None
        products = 2 * sum(product.size * product.active for product in blueprint.products)
        middle = (cached + prompt) // 2
        count = max(1, prompt - cached)
        rates = {p.value: ceilings.flops_per_s(p) for p in _PRECISIONS}
        own = rates.pop(self._info.precision.value)
        return PrefillCost(
            count * products,
            own,
            rates,
            count * attention_flops(blueprint.tracks, middle),
            ceilings.attention_flops_per_s,
        )

    def token_flops(self, context: int) -> int | None:
        """Arithmetic of one decoded token."""
        return None if self._blueprint is None else decode_flops(self._blueprint, context)

    def offload(self, context: int, free_bytes: int, *, is_capped: bool) -> Offload | None:
        """Where a step's bytes lie, when some layers run beside the GPU."""
        step, count = self.step(context), self._info.num_cpu_layers
        if step is None or self._host is None or not self._is_cuda or not count:
            return None
        host = round(step.num_bytes * count / self._info.num_layers)
        precision = self._info.precision
        return Offload(
            host,
            self._host.weight_bytes_per_s(precision),
            step.num_bytes - host,
            step.weight_bytes_per_s,
            free_bytes,
            is_capped,
        )

    def kept(self, tokens: int) -> list[KeptBytes]:
        """The cache of one answer of ``tokens``, by kind of layer."""
        if self._blueprint is None:
            return []
        found = []
        for track in self._blueprint.tracks:
            kind = "full" if track.capacity is None else "window"
            if track.stride > 1:
                kind = "compressed"
            held = cache_bytes([track], tokens, self._kv)
            read = cache_bytes_read([track], tokens, self._kv)
            found.append(KeptBytes(kind, track.layers, held, read))
        return found

    def held(self, tokens: int) -> int | None:
        """Bytes of the blocks that one answer of ``tokens`` holds."""
        if self._blueprint is None:
            return None
        return held_cache_bytes(self._blueprint.tracks, tokens, self._kv)

    def _step(self, context: int, precision: Precision, kv: KVPrecision) -> StepCost | None:
        return self._cost(context, precision, kv, self.ceilings)

    def _cost(
        self, context: int, precision: Precision, kv: KVPrecision, ceilings: Ceilings | None
    ) -> StepCost | None:
        blueprint = self._blueprint
        if blueprint is None or ceilings is None:
            return None
        setup = Setup(precision, kv, context, 1, self._target)
        if precision not in self._weight_bytes:  # the same in every report
            head = head_bytes(blueprint, precision, self._target)
            self._weight_bytes[precision] = weight_bytes_read(blueprint, setup) + head
        weights = self._weight_bytes[precision]
        is_native = runs_natively(blueprint, setup)
        layer_s = ceilings.native_layer_s if is_native else ceilings.layer_s
        return StepCost(
            weights,
            cache_bytes_read(blueprint.tracks, context, kv),
            ceilings.weight_bytes_per_s(precision),
            ceilings.cache_bytes_per_s,
            decode_flops(blueprint, context) / ceilings.flops_per_s(precision),
            ceilings.step_s + blueprint.num_layers * layer_s,
        )
