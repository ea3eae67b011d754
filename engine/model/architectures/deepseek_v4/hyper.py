"""Manifold-constrained hyper-connections: a residual of several streams instead of one.

Each block reads a weighted sum of the streams, adds its output to each of them, and mixes the
streams among themselves by a matrix whose rows and columns add up to one (Sinkhorn and Knopp), so
that no depth makes them grow. All weights depend on the streams' content, computed in float32.
"""

from dataclasses import dataclass

import torch


@dataclass(frozen=True, slots=True, eq=False)
class StreamWeights:
    """A projection of all streams of a token to a few weights.

    ``matrix``: float32 [outputs, streams * hidden]; ``base`` [outputs]; ``scales`` [1 or 3].
    """

    matrix: torch.Tensor
    base: torch.Tensor
    scales: torch.Tensor
    norm_eps: float
    eps: float

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        parts = (self.matrix, self.base, self.scales)
        return sum(part.numel() * part.element_size() for part in parts)

    def project(self, streams: torch.Tensor) -> torch.Tensor:
        """Streams [T, S, hidden] -> float32 [T, outputs], normalised over all streams."""
        flat = streams.flatten(1).float()
        scale = torch.rsqrt(flat.square().mean(-1, keepdim=True) + self.norm_eps)
        return torch.nn.functional.linear(flat, self.matrix) * scale


@dataclass(frozen=True, slots=True, eq=False)
class HyperConnection:
    """What leads into a block and out of it again."""

    weights: StreamWeights
    num_streams: int
    mix_steps: int

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self.weights.nbytes

    def enter(
        self, streams: torch.Tensor
    ) -> tuple[torch.Tensor, tuple[torch.Tensor, torch.Tensor]]:
        """Streams [T, S, hidden] -> the block's input [T, hidden], and the way out."""
        count, eps = self.num_streams, self.weights.eps
        sizes = [count, count, count * count]
        read, write, mix = torch.split(self.weights.project(streams), sizes, -1)
        read_base, write_base, mix_base = torch.split(self.weights.base, sizes)
        read_scale, write_scale, mix_scale = self.weights.scales.unbind()
        reading = torch.sigmoid(read * read_scale + read_base) + eps
        writing = 2 * torch.sigmoid(write * write_scale + write_base)
        mixing = (mix * mix_scale + mix_base).view(-1, count, count)
        return collapse(streams, reading), (writing, self._balance(mixing.softmax(-1) + eps))

    @staticmethod
    def leave(
        streams: torch.Tensor, out: torch.Tensor, way: tuple[torch.Tensor, torch.Tensor]
    ) -> torch.Tensor:
        """Add the block's output [T, hidden] to the mixed streams."""
        writing, mixing = (part.to(streams.dtype) for part in way)
        mixed = torch.matmul(mixing.transpose(-1, -2), streams)
        return torch.addcmul(mixed, writing.unsqueeze(-1), out.unsqueeze(-2))

    def _balance(self, mixing: torch.Tensor) -> torch.Tensor:
        """Scale columns and rows of ``mixing`` [T, S, S], in place, until both add up to one."""
        eps = self.weights.eps
        mixing.div_(mixing.sum(-2, keepdim=True).add_(eps))
        for _ in range(self.mix_steps - 1):
            mixing.div_(mixing.sum(-1, keepdim=True).add_(eps))
            mixing.div_(mixing.sum(-2, keepdim=True).add_(eps))
        return mixing


@dataclass(frozen=True, slots=True, eq=False)
class HyperHead:
    """The end of the streams: one row a token for the head."""

    weights: StreamWeights

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self.weights.nbytes

    def __call__(self, streams: torch.Tensor) -> torch.Tensor:
        """Streams [T, S, hidden] -> [T, hidden]."""
        weights = self.weights
        reading = torch.sigmoid(weights.project(streams) * weights.scales + weights.base)
        return collapse(streams, reading + weights.eps)


def collapse(streams: torch.Tensor, reading: torch.Tensor) -> torch.Tensor:
    """The sum of streams [T, S, hidden] weighted by ``reading`` [T, S], in the streams' type."""
    return torch.matmul(reading.unsqueeze(1), streams.float()).squeeze(1).to(streams.dtype)
