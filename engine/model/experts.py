"""A mixture of experts: a router sends each token to a few of many feed-forward blocks.

The tokens of a batch are sorted by expert, so that each expert in use runs one product over all
its tokens; what Python does grows with the experts in use and not with the tokens.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

from engine.model.mlp import GatedMLP
from engine.quant.linear import Linear


@dataclass(frozen=True, slots=True, eq=False)
class ExpertMixture:
    """x [T, hidden] -> the weighted sum of ``per_token`` experts' outputs.

    ``router`` [experts, hidden] scores in float32; a softmax over all experts gives the weights,
    ``is_normalised``: scaled to add up to one over those chosen.
    """

    router: Linear
    experts: tuple[GatedMLP, ...]
    per_token: int
    is_normalised: bool

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        return self.router.nbytes + sum(expert.nbytes for expert in self.experts)

    @property
    def products(self) -> Mapping[str, Linear]:
        """The products by name, for the model sheet; the experts' are alike."""
        return {"router": self.router, **self.experts[0].products}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Transform each row."""
        weights, chosen = self.router(x.float()).softmax(-1).topk(self.per_token, -1)
        if self.is_normalised:
            weights /= weights.sum(-1, keepdim=True)
        return mix_experts(x, weights, chosen, self.experts)


def mix_experts(
    x: torch.Tensor,
    weights: torch.Tensor,
    chosen: torch.Tensor,
    experts: Sequence[Callable[[torch.Tensor], torch.Tensor]],
) -> torch.Tensor:
    """The sum of each row's experts' outputs, weighted: a new tensor [T, hidden].

    ``weights`` and ``chosen`` (int64): [T, experts of a token].
    """
    per_token = chosen.shape[1]
    chosen = chosen.reshape(-1)
    order = chosen.argsort(stable=True)
    counts = torch.bincount(chosen, minlength=len(experts)).tolist()
    in_use = [expert for expert, count in enumerate(counts) if count]
    rows = order.div(per_token, rounding_mode="floor")
    parts = torch.split(x.index_select(0, rows), [counts[expert] for expert in in_use])
    mixed = torch.cat([experts[expert](part) for expert, part in zip(in_use, parts, strict=True)])
    mixed.mul_(weights.reshape(-1, 1).index_select(0, order))
    return torch.zeros_like(x).index_add_(0, rows, mixed)
