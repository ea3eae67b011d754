"""A mixture of experts: a router sends each token to a few of many feed-forward blocks.

The tokens of a batch are sorted by expert, so that each expert in use runs one product over all
its tokens; what Python does grows with the experts in use and not with the tokens.
"""

from collections.abc import Mapping
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
        chosen = chosen.view(-1)
        order = chosen.argsort(stable=True)
        counts = torch.bincount(chosen, minlength=len(self.experts)).tolist()
        in_use = [expert for expert, count in enumerate(counts) if count]
        rows = order.div(self.per_token, rounding_mode="floor")
        parts = torch.split(x.index_select(0, rows), [counts[expert] for expert in in_use])
        mixed = torch.cat(
            [self.experts[expert](part) for expert, part in zip(in_use, parts, strict=True)]
        )
        mixed.mul_(weights.view(-1, 1).index_select(0, order))
        return torch.zeros_like(x).index_add_(0, rows, mixed)
