"""Root-mean-square normalisation."""

import torch


class RMSNorm:
    """x [T, N] -> x / sqrt(mean(x * x) + eps) * weight, in x's dtype."""

    __slots__ = ("_eps", "_plain", "_size", "_zeros", "weight")

    def __init__(self, weight: torch.Tensor, eps: float) -> None:
        """Keep ``weight`` [N] in the compute dtype."""
        self.weight = weight
        self._eps = eps
        self._size = weight.shape[0]
        # torch composes its CPU rms_norm of many passes; the sums below take half the time for
        # many rows and a third for the one row of a decode step.
        self._plain = weight.device.type == "cpu" and weight.dtype == torch.float32
        self._zeros = torch.zeros(1, self._size, dtype=weight.dtype, device=weight.device)

    @property
    def size(self) -> int:
        """N."""
        return self._size

    @property
    def nbytes(self) -> int:
        """Bytes of the weight."""
        return self.weight.numel() * self.weight.element_size()

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise each row of x [T, N]; T may be 0."""
        if not self._plain:
            return torch.nn.functional.rms_norm(x, (self._size,), self.weight, self._eps)
        if x.shape[0] == 1:
            row = x.view(-1)
            scale = (float(torch.dot(row, row)) / self._size + self._eps) ** -0.5
            return torch.addcmul(self._zeros, x, self.weight, value=scale)
        norms = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
        scales = norms.square_().div_(self._size).add_(self._eps).rsqrt_()
        return torch.mul(x, scales).mul_(self.weight)


class HeadNorm:
    """RMS norm of the leading heads of [T, heads, head_dim], in place: those of q and of k.

    Each head is normalised by itself; q and k have one weight each.
    """

    __slots__ = ("_eps", "_num_heads", "_size", "weight")

    def __init__(self, weight: torch.Tensor, eps: float) -> None:
        """Keep ``weight`` [heads, head_dim], one row a head, in the compute dtype."""
        self.weight = weight
        self._eps = eps
        self._num_heads, self._size = weight.shape

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self.weight.numel() * self.weight.element_size()

    def apply_(self, heads: torch.Tensor) -> None:
        """Normalise the first rows of each token of ``heads``; the others stay as they are."""
        normed = heads[:, : self._num_heads]
        norms = torch.linalg.vector_norm(normed, dim=-1, keepdim=True, dtype=torch.float32)
        scales = norms.square_().div_(self._size).add_(self._eps).rsqrt_()
        normed.mul_(scales).mul_(self.weight)


class ProjectionNorm:
    """RMS norm over all heads of q together, and over all heads of k, in place."""

    __slots__ = ("_k", "_q")

    def __init__(self, q: RMSNorm, k: RMSNorm) -> None:
        self._q = q
        self._k = k

    @property
    def nbytes(self) -> int:
        """Bytes of the weights."""
        return self._q.nbytes + self._k.nbytes

    def apply_(self, heads: torch.Tensor) -> None:
        """Normalise q and k of ``heads`` [T, heads, head_dim], which is contiguous."""
        flat = heads.view(heads.shape[0], -1)
        q_size, k_size = self._q.size, self._k.size
        for norm, part in ((self._q, flat[:, :q_size]), (self._k, flat[:, q_size:][:, :k_size])):
            part.copy_(norm(part))
