"""Attention of the generation before DeepSeek-V4, to measure against: one latent a token.

V3.2 keeps a narrow latent of all heads' keys and values for every token, with a key for its
indexer, and attends to the 2,048 best of them; without the indexer (V3) it attends to all. Here
are its layers with random weights in the absorbed form, which multiplies queries and latents
directly. Enough of it to run a decode step over a real cache: no norms, no rotation, no text.
"""

import math
from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True)
class LatentShape:
    """V3.2 by the names of its paper; ``vocab``: rows of the head; ``active``: experts a token."""

    layers: int
    hidden: int
    heads: int
    q_rank: int
    latent: int
    plain: int
    rotary: int
    value: int
    index_heads: int
    index_dim: int
    index_top: int
    experts: int
    active: int
    inner: int
    vocab: int


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """Weights [rows, columns] of one layer; ``keys`` and ``values`` are the absorbed ones."""

    narrow: torch.Tensor
    queries: torch.Tensor
    latent: torch.Tensor
    out: torch.Tensor
    index_queries: torch.Tensor
    index_key: torch.Tensor
    index_weights: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    router: torch.Tensor
    gates: tuple[torch.Tensor, ...]
    downs: tuple[torch.Tensor, ...]


class LatentTwin:
    """A model of that shape, and the cache of one request."""

    def __init__(self, shape: LatentShape, context: int, dtype: torch.dtype) -> None:
        """Draw weights and ``context`` tokens of cache, every byte of it written."""
        self.shape = shape
        draw = torch.Generator().manual_seed(0)
        self._draw = draw
        self._layers = [self._layer() for _ in range(shape.layers)]
        self._head = self._matrix(shape.vocab, shape.hidden)
        # one layer's values for all: what is measured are sizes and products
        latents = torch.randn(context, shape.latent + shape.rotary, generator=draw).to(dtype)
        keys = torch.randn(context, shape.index_dim, generator=draw).to(dtype)
        self._latents = latents.repeat(shape.layers, 1, 1)
        self._keys = keys.repeat(shape.layers, 1, 1)

    @property
    def cache_bytes(self) -> int:
        """Bytes of the cache."""
        return self._latents.nbytes + self._keys.nbytes

    @torch.inference_mode()
    def step(self, context: int, *, is_sparse: bool = True) -> torch.Tensor:
        """Logits of one more token after ``context``; all of them attended to if not sparse."""
        x = torch.randn(1, self.shape.hidden, generator=self._draw)
        for number, layer in enumerate(self._layers):
            latents, keys = self._latents[number, :context], self._keys[number, :context]
            x = x + self._attend(layer, x, latents, keys if is_sparse else None)
            x = x + self._experts(layer, x)
        return x @ self._head.T

    def _layer(self) -> _Layer:
        shape, used = self.shape, range(self.shape.active + 1)  # the shared expert is one more
        queries = shape.heads * (shape.plain + shape.rotary)
        keys = torch.randn(shape.heads, shape.plain, shape.latent, generator=self._draw)
        values = torch.randn(shape.heads, shape.latent, shape.value, generator=self._draw)
        return _Layer(
            narrow=self._matrix(shape.q_rank, shape.hidden),
            queries=self._matrix(queries, shape.q_rank),
            latent=self._matrix(shape.latent + shape.rotary, shape.hidden),
            out=self._matrix(shape.hidden, shape.heads * shape.value),
            index_queries=self._matrix(shape.index_heads * shape.index_dim, shape.q_rank),
            index_key=self._matrix(shape.index_dim, shape.hidden),
            index_weights=self._matrix(shape.index_heads, shape.hidden),
            keys=keys / math.sqrt(shape.plain),
            values=values / math.sqrt(shape.latent),
            router=self._matrix(shape.experts, shape.hidden),
            gates=tuple(self._matrix(2 * shape.inner, shape.hidden) for _ in used),
            downs=tuple(self._matrix(shape.hidden, shape.inner) for _ in used),
        )

    def _attend(
        self, layer: _Layer, x: torch.Tensor, latents: torch.Tensor, keys: torch.Tensor | None
    ) -> torch.Tensor:
        shape = self.shape
        narrow = x @ layer.narrow.T
        queries = (narrow @ layer.queries.T).view(shape.heads, 1, -1)
        if keys is not None:
            latents = latents[self._best(layer, x, narrow, keys)]
        rows = torch.cat((latents.float(), x @ layer.latent.T))
        plain, rotary = torch.split(queries, [shape.plain, shape.rotary], -1)
        absorbed = torch.cat((torch.bmm(plain, layer.keys), rotary), -1).view(shape.heads, -1)
        shares = (absorbed @ rows.T).softmax(-1)
        mixed = (shares @ rows[:, : shape.latent]).unsqueeze(1)
        return torch.bmm(mixed, layer.values).view(1, -1) @ layer.out.T

    def _best(
        self, layer: _Layer, x: torch.Tensor, narrow: torch.Tensor, keys: torch.Tensor
    ) -> torch.Tensor:
        """The entries that the indexer chooses among those before the token."""
        queries = (narrow @ layer.index_queries.T).view(self.shape.index_heads, -1)
        past = torch.cat((keys.float(), x @ layer.index_key.T))
        scores = (x @ layer.index_weights.T) @ torch.relu(queries @ past.T)
        count = keys.shape[0]
        return scores[0, :count].topk(min(self.shape.index_top, count)).indices

    def _experts(self, layer: _Layer, x: torch.Tensor) -> torch.Tensor:
        weights = (x @ layer.router.T).topk(self.shape.active).values.softmax(-1)[0]
        shares = [*weights.unbind(), torch.ones(())]  # the shared one counts in full
        parts = []
        for share, gate_up, down in zip(shares, layer.gates, layer.downs, strict=True):
            gate, up = (x @ gate_up.T).chunk(2, -1)
            parts.append(share * ((torch.nn.functional.silu(gate) * up) @ down.T))
        return torch.stack(parts).sum(0)

    def _matrix(self, rows: int, columns: int) -> torch.Tensor:
        return torch.randn(rows, columns, generator=self._draw) / math.sqrt(columns)
