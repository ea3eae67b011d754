"""What ``quantization_config`` changes: matrices of 4-bit groups are kept as they are published.

Only layouts that ``engine.model.prequantized`` hands on as 4-bit groups matter. 8-bit ones, the
uneven steps of bitsandbytes and groups whose order was shuffled become what other weights become.
"""

from dataclasses import replace
from typing import Any

from engine.planner.blueprint import Blueprint
from engine.planner.header import HeaderFields

_GROUPED = frozenset({"gptq", "awq", "compressed-tensors"})
_KERNEL_GROUPS = (256, 128, 64, 32)


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
    present = weights.whole("group_size", 128)
    products = tuple(
        replace(product, is_four_bit=True, group=_group(product.columns, present))
        for product in blueprint.products
    )
    return replace(blueprint, products=products, is_four_bit=True)


def _compressed_weights(groups: Any) -> Any:
    """The ``weights`` of the first of several groups of layers."""
    if groups is None:
        return None
    first = groups.section("group_0")
    return None if first is None else first.section("weights")


def _group(columns: int, present: int) -> int:
    """The largest group a kernel takes that divides the file's; -1 there is a whole row."""
    size = columns if present <= 0 else present
    return next((group for group in _KERNEL_GROUPS if size % group == 0), _KERNEL_GROUPS[-1])
