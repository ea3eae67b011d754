"""What ``quantization_config`` changes: matrices of 4-bit groups are kept as they are published.

Only layouts that ``engine.model.prequantized`` hands on as 4-bit groups matter. 8-bit ones, the
uneven steps of bitsandbytes and groups whose order was shuffled become what other weights become.
"""

from dataclasses import replace
from typing import Any

from engine.model.footprint.blueprint import Blueprint
from engine.planner.header import HeaderFields
from engine.quant.stored import kernel_group

_GROUPED = frozenset({"gptq", "awq", "compressed-tensors"})


def keep_groups(blueprint: Blueprint, fields: HeaderFields) -> Blueprint:
    """``blueprint`` with its layers in the file's groups, if the file has any."""
    section = fields.section("quantization_config")
    if section is None or section.text("quant_method", "gptq") not in _GROUPED:
        return blueprint
    weights: Any = _compressed_weights(section.section("config_groups")) or section
    bits = weights.whole("bits", weights.whole("num_bits", 4))
    is_shuffled = section.flag("desc_act", default=False) and not section.flag(
        "static_groups", default=False
    )
    if bits != 4 or is_shuffled:
        return blueprint
    present = weights.whole("group_size", 128)  # -1: a whole row
    products = tuple(
        replace(
            product,
            is_four_bit=True,
            group=kernel_group(present if present > 0 else product.columns),
        )
        for product in blueprint.products
    )
    return replace(blueprint, products=products, is_four_bit=True)


def _compressed_weights(groups: Any) -> Any:
    """The ``weights`` of the first of several groups of layers."""
    if groups is None:
        return None
    first = groups.section("group_0")
    return None if first is None else first.section("weights")
