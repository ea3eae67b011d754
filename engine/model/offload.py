"""Which layers of a model run on the GPU when it cannot hold them all.

::

    CPU   table | layer 0 ... layer n - 1
    GPU                                  | layer n ... last layer | head

The hidden state crosses once. The embedding only looks rows up, so it stays on the CPU; the head is
the largest product of a step, so it goes to the GPU before any layer. Plain numbers, no torch.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_LAYER = re.compile(r"(?:^|\.)(\d+)\.")


@dataclass(frozen=True, slots=True)
class ModelParts:
    """Bytes of a model's parts. ``kv_layer``: the whole K/V pool of one layer."""

    table: int
    layers: Sequence[int]
    head: int
    kv_layer: int


@dataclass(frozen=True, slots=True)
class Split:
    """The first ``cpu_layers`` on the CPU, the others on the GPU, and the bytes of each side."""

    cpu_layers: int
    cpu_bytes: int
    gpu_bytes: int


def split_layers(parts: ModelParts, gpu_budget: int) -> Split:
    """Give the GPU as many of the last layers as ``gpu_budget`` bytes hold, with their K and V.

    A GPU that cannot hold the head and one layer gets nothing, and one that can hold all of them
    gets the table, too.
    """
    num_layers = len(parts.layers)
    total = parts.table + sum(parts.layers) + num_layers * parts.kv_layer + parts.head
    if total <= gpu_budget:
        return Split(0, 0, total)
    used, cpu_layers = parts.head, num_layers
    # the table stays behind, and so at least one layer: a table alone would save no room
    while cpu_layers > 1 and used + parts.layers[cpu_layers - 1] + parts.kv_layer <= gpu_budget:
        cpu_layers -= 1
        used += parts.layers[cpu_layers] + parts.kv_layer
    if cpu_layers == num_layers:
        return Split(num_layers, total, 0)
    return Split(cpu_layers, total - used, used)


def by_layer(
    sizes: Mapping[str, int], num_layers: int, *, is_tied: bool, kv_layer: int
) -> ModelParts:
    """Sort the bytes of every parameter (by its name) into parts.

    The first number in a name is its layer. Of the others, those of the embedding make the table
    and the rest the head; a tied table is needed on both sides.
    """
    layers = [0] * num_layers
    table = head = 0
    for name, size in sizes.items():
        found = _LAYER.search(name)
        layer = int(found[1]) if found else num_layers
        if layer < num_layers:
            layers[layer] += size
        elif _is_table(name):
            table += size
        else:
            head += size
    return ModelParts(table, tuple(layers), head + (table if is_tied else 0), kv_layer)


def _is_table(name: str) -> bool:
    return any(mark in name for mark in ("embed", "wte", "wpe")) and "embed_out" not in name
