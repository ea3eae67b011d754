"""One decoder layer: its weights, and the arithmetic before and after attention.

::

    x += post(o(attention(rotate(norm(qkv(norm(x)))))))
    x += post(feed_forward(norm(x)))

Every norm but the family's own is absent. Plain classes and few tensor operations: a decode step
of a small model is made of about as much interpreter as arithmetic, so nothing is an nn.Module.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from engine.model.norm import RMSNorm
from engine.quant.linear import Linear


class FeedForward(Protocol):
    """x [T, hidden] -> [T, hidden], T at least 1."""

    @property
    def nbytes(self) -> int:
        """Bytes of all weights and biases."""
        ...

    @property
    def products(self) -> Mapping[str, Linear]:
        """The products by name, for the model sheet."""
        ...

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Transform each row."""
        ...


class QKNorm(Protocol):
    """A norm of the q and k heads."""

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        ...

    def apply_(self, heads: torch.Tensor) -> None:
        """Normalise q and k of heads [T, heads + 2 kv_heads, head_dim] in place."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class DecoderLayer:
    """The weights of one layer. ``qkv``: the rows of q, k and v in one product.

    ``window`` and ``rotation``: which of the decoder's windows and rotary tables it uses.
    """

    qkv: Linear
    o: Linear
    feed_forward: FeedForward
    attention_norm: RMSNorm | None = None
    post_attention_norm: RMSNorm | None = None
    ffn_norm: RMSNorm | None = None
    post_ffn_norm: RMSNorm | None = None
    qk_norm: QKNorm | None = None
    qkv_bias: torch.Tensor | None = None
    o_bias: torch.Tensor | None = None
    residual_scale: float = 1.0
    window: int = 0
    rotation: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of all weights and biases."""
        norms = (self.attention_norm, self.post_attention_norm, self.ffn_norm, self.post_ffn_norm)
        parts = (self.qkv, self.o, self.feed_forward, self.qk_norm, *norms)
        biases = [b for b in (self.qkv_bias, self.o_bias) if b is not None]
        own = sum(b.numel() * b.element_size() for b in biases)
        return own + sum(part.nbytes for part in parts if part is not None)

    def project(self, x: torch.Tensor, head_dim: int) -> torch.Tensor:
        """Project x [T, hidden] to q, k and v, before rotation: [T, heads + 2 kv_heads, head_dim]."""
        qkv = self.qkv(x if self.attention_norm is None else self.attention_norm(x))
        if self.qkv_bias is not None:
            qkv += self.qkv_bias
        heads = qkv.view(x.shape[0], -1, head_dim)
        if self.qk_norm is not None:
            self.qk_norm.apply_(heads)
        return heads

    def finish_(self, x: torch.Tensor, mixed: torch.Tensor) -> None:
        """Add to x [T, hidden] what attention mixed, [T, heads * head_dim], and the feed-forward."""
        out = self.o(mixed)
        if self.o_bias is not None:
            out += self.o_bias
        if self.post_attention_norm is not None:
            out = self.post_attention_norm(out)
        x.add_(out, alpha=self.residual_scale)
        out = self.feed_forward(x if self.ffn_norm is None else self.ffn_norm(x))
        if self.post_ffn_norm is not None:
            out = self.post_ffn_norm(out)
        x.add_(out, alpha=self.residual_scale)
