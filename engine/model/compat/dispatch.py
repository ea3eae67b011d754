"""Spreads a model of transformers over two devices by accelerate's hooks, one a module.

The first layers and everything around the layers lie on the CPU, the other layers and the head on
the GPU; a hook moves what comes in to where its module lies.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from accelerate.hooks import (  # type: ignore[import-untyped]  # it ships no types
    AlignDevicesHook,
    add_hook_to_module,
)
from torch import nn
from transformers import PreTrainedModel

CPU = torch.device("cpu")
_CACHE_NAMES = ("cache", "past_key_values")


@dataclass(frozen=True, slots=True)
class DevicePlan:
    """``gpu`` runs all but the first ``cpu_layers``; with 0 of them, everything lies there."""

    gpu: torch.device
    cpu_layers: int = 0

    def devices(self, model: PreTrainedModel) -> Mapping[str, torch.device]:
        """Of the modules whose name starts so; "" is everything else."""
        if not self.cpu_layers:
            return {"": self.gpu}
        path, layers = layers_of(model)
        devices = {"": CPU}
        names = {module: name for name, module in model.named_modules()}
        head = head_of(model)
        if head is not None:
            devices[names[head]] = self.gpu
        for index in range(self.cpu_layers, len(layers)):
            devices[f"{path}.{index}"] = self.gpu
        return devices

    def connect(self, model: PreTrainedModel) -> None:
        """Hook every layer, its neighbours outside the list of layers, and the head."""
        if not self.cpu_layers:
            return
        path, layers = layers_of(model)
        for index, layer in enumerate(layers):
            _hook(layer, CPU if index < self.cpu_layers else self.gpu)
        for neighbour in model.get_submodule(path.rpartition(".")[0]).children():
            if neighbour is not layers:
                _hook(neighbour, CPU)
        head = head_of(model)
        if head is not None:
            _hook(head, self.gpu)


def head_of(model: PreTrainedModel) -> nn.Module | None:
    """The module that makes logits, if it is one of its own."""
    untyped: Any = model
    head: nn.Module | None = untyped.get_output_embeddings()
    return head


def layers_of(model: PreTrainedModel) -> tuple[str, nn.ModuleList]:
    """The list of layers with its name; AttributeError where there is none."""
    count = model.config.num_hidden_layers
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return name, module
    raise AttributeError("the model keeps its layers in no list")


def _hook(module: nn.Module, device: torch.device) -> None:
    add_hook_to_module(module, AlignDevicesHook(device, skip_keys=list(_CACHE_NAMES)))
