"""The engine's own products in the places of transformers' linear layers."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn
from typing_extensions import override

from engine.quant.embedding import Embedding
from engine.quant.product import Linear

_GATE = "_apply_gate"


class ProductModule(nn.Module):
    """x [..., K] -> x @ W.T + bias [..., N]."""

    def __init__(self, product: Linear, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.product = product
        self.in_features = product.in_features
        self.out_features = product.out_features
        self.bias = bias

    @override
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.product(x.reshape(-1, x.shape[-1]))
        if self.bias is not None:
            y += self.bias
        return y.view(*x.shape[:-1], -1)


class EmbeddingModule(nn.Module):
    """ids int64 [...] -> rows [..., hidden]."""

    def __init__(self, table: Embedding) -> None:
        super().__init__()
        self.table = table

    @override
    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids.reshape(-1)).view(*ids.shape, -1)


class ExpertProducts:
    """The forward of a mixture of experts whose matrices are products, one an expert.

    ``module`` is transformers' own, without its matrices: its activation and biases are used.
    """

    def __init__(self, module: Any, first: Sequence[Linear], second: Sequence[Linear]) -> None:
        self._module = module
        self._first = first
        self._second = second

    @property
    def products(self) -> tuple[Linear, ...]:
        """All of them."""
        return (*self._first, *self._second)

    def __call__(
        self, hidden_states: torch.Tensor, top_k_index: torch.Tensor, top_k_weights: torch.Tensor
    ) -> torch.Tensor:
        """Rows [T, hidden] through the experts [T, k] that were chosen for each."""
        out = torch.zeros_like(hidden_states)
        for expert in torch.unique(top_k_index).tolist():
            if not 0 <= expert < len(self._first):
                continue  # marks a row of another machine
            rows, choices = torch.where(top_k_index == expert)
            mixed = self._expert(expert, hidden_states[rows])
            weights = top_k_weights[rows, choices].unsqueeze(-1)
            out.index_add_(0, rows, (mixed * weights).to(out.dtype))
        return out

    def _expert(self, expert: int, x: torch.Tensor) -> torch.Tensor:
        module = self._module
        first_name = "gate_up_proj" if module.has_gate else "up_proj"
        x = self._first[expert](x)
        if module.has_bias:
            x = x + getattr(module, f"{first_name}_bias")[expert]
        # what the decorator of every such class gives it
        gate = getattr(module, _GATE) if module.has_gate else module.act_fn
        x = gate(x)
        x = self._second[expert](x)
        return x + module.down_proj_bias[expert] if module.has_bias else x


def is_expert_stack(module: nn.Module) -> bool:
    """Whether ``module`` keeps the matrices of its experts in the way ExpertProducts replaces."""
    marks = ("has_gate", "has_bias", "is_transposed", _GATE)
    return all(hasattr(module, mark) for mark in marks) and not getattr(
        module, "has_post_expert_norm", False
    )
