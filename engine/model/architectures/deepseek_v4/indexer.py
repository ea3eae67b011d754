"""The lightning indexer: which compressed entries a query attends to.

A few small heads score all entries of the past, s = sum over heads of w * relu(q . k), and the
best ``top`` are attended to. Keys are read some thousands at a time, widened as they come.
"""

from dataclasses import dataclass

import torch

from engine.kv.compressed import Entries, RequestStep
from engine.model.architectures.deepseek_v4.rotary import rotate
from engine.quant.linear import Linear

_SCORES_AT_ONCE = 1 << 22  # products of a query head and a key


@dataclass(frozen=True, slots=True, eq=False)
class Indexer:
    """``queries``: [heads * width, q_rank], of the narrow latent; ``head_weights``: [heads, hidden]."""

    queries: Linear
    head_weights: Linear
    num_heads: int
    top: int

    @property
    def nbytes(self) -> int:
        """Bytes of all weights."""
        return self.queries.nbytes + self.head_weights.nbytes

    def prepare(
        self, x: torch.Tensor, latent: torch.Tensor, turns: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Queries float32 [T, heads, width] and head weights [T, 1, heads] of a batch."""
        queries = self.queries(latent).view(latent.shape[0], self.num_heads, -1)
        queries = rotate(queries, turns).float()
        scale = (queries.shape[-1] * self.num_heads) ** -0.5
        return queries, self.head_weights(x.float()).mul_(scale).unsqueeze(1)

    def choose(
        self,
        step: RequestStep,
        layer: int,
        prepared: tuple[torch.Tensor, torch.Tensor],
        seen: torch.Tensor,
        count: int,
    ) -> torch.Tensor:
        """The best entries of each query of one request, int64 [T, top], in no order.

        ``prepared``: of the request's rows. ``seen`` (int64 [T]): how many entries each may see,
        the last of them ``count`` >= ``top``; where they are fewer than ``top``, others fill the
        row up.
        """
        scores = self.scores(step, layer, prepared, count)
        numbers = torch.arange(scores.shape[1], device=scores.device)
        scores.masked_fill_(numbers >= seen.unsqueeze(1), float("-inf"))
        return scores.topk(self.top, -1, sorted=False).indices

    def scores(
        self,
        step: RequestStep,
        layer: int,
        prepared: tuple[torch.Tensor, torch.Tensor],
        count: int,
    ) -> torch.Tensor:
        """Scores of the entries [0, count), float32 [T, count]."""
        queries, weights = prepared
        num_rows = queries.shape[0]
        flat = queries.flatten(0, 1)
        scores = torch.empty(num_rows, count, device=queries.device)
        width = max(1, _SCORES_AT_ONCE // flat.shape[0])
        for first in range(0, count, width):
            last = min(first + width, count)
            keys = step.read(Entries.INDEX, layer, first, last, torch.float32)
            products = torch.matmul(flat, keys.t()).relu_().view(num_rows, -1, last - first)
            torch.matmul(weights, products, out=scores[:, first:last].unsqueeze(1))
        return scores
