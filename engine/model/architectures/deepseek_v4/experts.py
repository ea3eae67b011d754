"""The feed-forward block: a shared expert, and a few of many routed ones.

In the first layers a table says which experts a token uses (hash routing), in the others those
with the highest scores do; how much each counts follows from the scores in both.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from engine.model.architectures.deepseek_v4.config import Score
from engine.model.experts import mix_experts
from engine.quant.linear import Linear

_TINY = 1e-20


@dataclass(frozen=True, slots=True, eq=False)
class ClampedMLP:
    """x [T, hidden] -> down(silu(gate(x)) * up(x)), gate and up held within ``limit``.

    ``gate_up``: one product, the gate's columns before up's.
    """

    gate_up: Linear
    down: Linear
    limit: float

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        return self.gate_up.nbytes + self.down.nbytes

    @property
    def products(self) -> Mapping[str, Linear]:
        """The products by name, for the model sheet."""
        return {"gate_up": self.gate_up, "down": self.down}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Transform each row."""
        gate, up = self.gate_up(x).chunk(2, -1)
        gate = torch.nn.functional.silu(gate.clamp(max=self.limit))
        return self.down(gate.mul_(up.clamp(-self.limit, self.limit)))


@dataclass(frozen=True, slots=True, eq=False)
class Router:
    """Which experts a token uses, and how much each of them counts.

    ``gate`` [experts, hidden] scores in float32. ``bias`` (float32 [experts]) is added for the
    choice alone; ``table`` (int64 [vocab_size, per_token]) makes the choice without scores.
    """

    gate: Linear
    per_token: int
    score: Score
    scale: float
    bias: torch.Tensor | None = None
    table: torch.Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the gate, the bias and the table."""
        extra = [part for part in (self.bias, self.table) if part is not None]
        return self.gate.nbytes + sum(part.numel() * part.element_size() for part in extra)

    def __call__(
        self, x: torch.Tensor, token_ids: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Rows x [T, hidden] of tokens [T] -> weights float32 and experts int64, [T, per_token]."""
        scores = self._scores(self.gate(x.float()))
        if self.table is not None:
            chosen = self.table.index_select(0, token_ids)
        else:
            ranked = scores if self.bias is None else scores + self.bias
            chosen = ranked.topk(self.per_token, -1).indices
        weights = scores.gather(1, chosen)
        weights = weights / (weights.sum(-1, keepdim=True) + _TINY)
        return weights.mul_(self.scale), chosen

    def _scores(self, logits: torch.Tensor) -> torch.Tensor:
        match self.score:
            case "sigmoid":
                return logits.sigmoid()
            case "sqrtsoftplus":
                return torch.nn.functional.softplus(logits).sqrt()


@dataclass(frozen=True, slots=True, eq=False)
class RoutedExperts:
    """One layer's feed-forward block."""

    router: Router
    experts: tuple[ClampedMLP, ...]
    shared: ClampedMLP

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        routed = sum(expert.nbytes for expert in self.experts)
        return self.router.nbytes + routed + self.shared.nbytes

    @property
    def products(self) -> Mapping[str, Linear]:
        """The products by name, for the model sheet; the experts' are alike."""
        return {"router": self.router.gate, **self.experts[0].products}

    def __call__(self, x: torch.Tensor, token_ids: torch.Tensor) -> torch.Tensor:
        """Transform the rows x [T, hidden] of tokens [T]."""
        weights, chosen = self.router(x, token_ids)
        return mix_experts(x, weights, chosen, self.experts).add_(self.shared(x))
