"""How much of what this machine could do a measured speed is."""

from collections.abc import Mapping

from engine.api import ModelInfo
from engine.roofline.ceilings import path_for, read_ceilings
from engine.tracing.costs import ModelCosts


def share_of_ceiling(
    costs: ModelCosts, sizes: tuple[int, int, int], rates: Mapping[str, object]
) -> dict[str, float] | None:
    """Shares of the ceilings, about 0 to 1; None where there is no plan for the model.

    ``sizes``: streams, prompt tokens and new tokens of each. ``rates``: as in the bench's result.
    prefill: of the products' and attention's rates. decode: of reading weights and caches at the
    rates of the products that read them, or of multiplying, whichever takes longer. bandwidth: of
    reading the same bytes as fast as memory can be read.
    """
    streams, prompt, new = sizes
    ceilings = costs.ceilings
    step, prefill = costs.step(prompt + new // 2), costs.prefill(prompt, 0)
    if step is None or prefill is None or ceilings is None:
        return None
    shares = {}
    prefill_rate, decode_rate = (rates[f"{name}_tokens_per_s"] for name in ("prefill", "decode"))
    if isinstance(prefill_rate, float):
        shares["prefill"] = prefill.seconds * prefill_rate / prompt
    if isinstance(decode_rate, float):
        steps_per_s = decode_rate / streams
        weights = step.weight_bytes / step.weight_bytes_per_s
        read_s = weights + streams * step.cache_bytes / step.cache_bytes_per_s
        shares["decode"] = max(read_s, streams * step.row_s) * steps_per_s
        num_bytes = step.weight_bytes + streams * step.cache_bytes
        shares["bandwidth"] = num_bytes / ceilings.read_bytes_per_s * steps_per_s
    return shares


def kept_costs(info: ModelInfo) -> ModelCosts | None:
    """The model's costs by the ceilings kept for its threads; None where none were measured."""
    ceilings = read_ceilings(path_for(info.threads))
    return None if ceilings is None else ModelCosts(info, ceilings)
