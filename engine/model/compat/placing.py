"""Puts weights into a skeleton, as products of the wanted precision where a layer allows it."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.models.falcon.modeling_falcon import FalconLinear
from transformers.pytorch_utils import Conv1D

from engine.api import Precision
from engine.model.compat.modules import (
    EmbeddingModule,
    ExpertProducts,
    ProductModule,
    is_expert_stack,
)
from engine.model.config import corrupt
from engine.quant.embedding import Embedding, make_tied
from engine.quant.layout import DenseWeight, Weight
from engine.quant.linear import Linear, make_linear

_STACKS = ("gate_up_proj", "up_proj", "down_proj")
# these classes and none derived from them, which may compute something else
_LINEAR_TYPES = (nn.Linear, Conv1D, FalconLinear)


@dataclass(frozen=True, slots=True)
class _Spot:
    """One place of a parameter: attribute ``name`` of the module at ``path``."""

    path: str
    name: str
    module: nn.Module

    @property
    def is_linear(self) -> bool:
        return self.name == "weight" and type(self.module) in _LINEAR_TYPES

    @property
    def is_table(self) -> bool:
        is_plain = type(self.module) is nn.Embedding and self.module.max_norm is None
        return self.name == "weight" and is_plain


class Placer:
    """Fills one model. A tied parameter, one with several names, is placed under all at once."""

    def __init__(
        self,
        model: PreTrainedModel,
        precision: Precision,
        compute_dtype: torch.dtype,
        devices: Mapping[str, torch.device],
        path: str,
    ) -> None:
        """``devices``: of the modules whose name starts so; "" is everything else."""
        self._model = model
        self._precision = precision
        self._dtype = compute_dtype
        self._devices = devices
        self._path = path
        is_half = compute_dtype.itemsize == 2
        # then transformers' own layers compute what a product of ours would
        self._keeps_layers = precision is Precision.FP32 or (
            precision is Precision.BF16 and is_half
        )
        self._tied = _tied_names(model)
        self._placed: set[str] = set()
        self._stacks: dict[str, dict[str, tuple[Linear, ...]]] = {}
        self.products: list[Linear] = []
        self.tables: list[Embedding] = []

    def place(self, name: str, value: Weight | torch.Tensor) -> None:
        """Place one parameter or buffer; raises ModelCorruptError for a shape that is not its."""
        if name in self._placed:
            return  # under another name
        names = self._tied.get(name, (name,))
        self._placed.update(names)
        spots = [self._spot(other) for other in names]
        self._check_shape(name, value, spots[0])
        is_floating = not isinstance(value, torch.Tensor) or value.is_floating_point()
        if self._keeps_layers or not is_floating:
            taken: list[_Spot] = []
        elif _is_stack(spots[0]):
            taken = self._place_stack(spots[0], _dense(value))
        else:
            taken = self._place_products(spots, value)
        rest = [spot for spot in spots if spot not in taken]
        if rest:
            self._place_plain(rest, _dense(value))

    def finish(self) -> None:
        """Check that nothing is missing, and move the constants to their devices."""
        for path, parts in self._stacks.items():
            module = self._model.get_submodule(path)
            first = parts["gate_up_proj" if "gate_up_proj" in parts else "up_proj"]
            module.forward = ExpertProducts(module, first, parts["down_proj"])
        for name, parameter in self._model.named_parameters():
            if parameter.device.type == "meta":
                raise corrupt(self._path, f"the tensor {name[:80]} is missing")
        for path, module in self._model.named_modules():
            for name, buffer in module.named_buffers(recurse=False):
                setattr(module, name, buffer.to(self.device_of(f"{path}.{name}")))

    def device_of(self, name: str) -> torch.device:
        """Where the parameter ``name`` lives."""
        fitting = [prefix for prefix in self._devices if f"{name}.".startswith(f"{prefix}.")]
        return self._devices[max(fitting, key=len, default="")]

    @property
    def nbytes(self) -> int:
        """Bytes of everything placed, shared tensors counted once."""
        tensors = [*self._model.parameters(), *self._model.buffers()]
        products = {id(product): product.nbytes for product in self.products}
        return (
            sum(tensor.nbytes for tensor in tensors)
            + sum(products.values())
            + sum(table.nbytes for table in self.tables)
        )

    def _spot(self, name: str) -> _Spot:
        path, _, last = name.rpartition(".")
        return _Spot(path, last, self._model.get_submodule(path))

    def _check_shape(self, name: str, value: Weight | torch.Tensor, spot: _Spot) -> None:
        wanted = getattr(spot.module, spot.name)
        if wanted is not None and tuple(value.shape) != tuple(wanted.shape):
            reason = (
                f"the tensor {name[:80]} has shape {list(value.shape)}, not {list(wanted.shape)}"
            )
            raise corrupt(self._path, reason)

    # ------------------------------------------------------------------ one kind each

    def _place_products(self, spots: list[_Spot], value: Weight | torch.Tensor) -> list[_Spot]:
        """Replace the linear layers and embeddings among ``spots``; returns those replaced."""
        linears = [spot for spot in spots if spot.is_linear]
        tables = [spot for spot in spots if spot.is_table]
        if not linears and not tables:
            return []
        weight = _matrix(value, is_transposed=bool(linears) and _is_conv(linears[0]))
        precision, dtype = self._precision, self._dtype
        device = self.device_of((linears or tables)[0].path)
        if linears and tables and self.device_of(tables[0].path) == device:
            table, product = make_tied(weight, precision, dtype, device)
            self._replace(linears, product)
            self._look_up(tables, table)
        else:
            if tables:
                home = self.device_of(tables[0].path)
                self._look_up(tables, Embedding(weight, dtype, home))
            if linears:
                self._replace(linears, make_linear(weight, precision, dtype, device))
        return [*linears, *tables]

    def _replace(self, spots: list[_Spot], product: Linear) -> None:
        self.products.append(product)
        for spot in spots:
            bias = spot.module.bias
            kept = bias if isinstance(bias, nn.Parameter) else None
            self._model.set_submodule(spot.path, ProductModule(product, kept))

    def _look_up(self, spots: list[_Spot], table: Embedding) -> None:
        self.tables.append(table)
        for spot in spots:
            self._model.set_submodule(spot.path, EmbeddingModule(table))

    def _place_stack(self, spot: _Spot, values: torch.Tensor) -> list[_Spot]:
        device = self.device_of(spot.path)
        is_transposed = bool(spot.module.is_transposed)
        products = tuple(
            make_linear(
                _matrix(part, is_transposed=is_transposed), self._precision, self._dtype, device
            )
            for part in values
        )
        self.products.extend(products)
        self._stacks.setdefault(spot.path, {})[spot.name] = products
        spot.module.register_parameter(spot.name, None)
        return [spot]

    def _place_plain(self, spots: list[_Spot], values: torch.Tensor) -> None:
        dtype = self._dtype if values.is_floating_point() else values.dtype
        shared: dict[torch.device, nn.Parameter] = {}
        for spot in spots:
            device = self.device_of(spot.path)
            if device not in shared:
                shared[device] = nn.Parameter(values.to(device, dtype), requires_grad=False)
            is_buffer = spot.name in dict(spot.module.named_buffers(recurse=False))
            setattr(spot.module, spot.name, shared[device].data if is_buffer else shared[device])


def _tied_names(model: PreTrainedModel) -> dict[str, tuple[str, ...]]:
    """Name -> all names of the same parameter."""
    groups: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        groups.setdefault(id(parameter), []).append(name)
    return {name: tuple(names) for names in groups.values() for name in names}


def _dense(value: Weight | torch.Tensor) -> torch.Tensor:
    return value if isinstance(value, torch.Tensor) else value.dequantize()


def _matrix(value: Weight | torch.Tensor, *, is_transposed: bool) -> Weight:
    if is_transposed:
        return DenseWeight(_dense(value).t().contiguous())
    return DenseWeight(value) if isinstance(value, torch.Tensor) else value


def _is_conv(spot: _Spot) -> bool:
    return type(spot.module) is Conv1D


def _is_stack(spot: _Spot) -> bool:
    return spot.name in _STACKS and is_expert_stack(spot.module)
