"""The gated feed-forward block (SwiGLU)."""

from dataclasses import dataclass

import torch

from engine.quant.linear import Linear


@dataclass(frozen=True, slots=True, eq=False)
class GatedMLP:
    """x [T, hidden] -> down(silu(gate(x)) * up(x)).

    ``gate_up`` is one product, [T, 2 * intermediate]: the gate's columns before up's. Biases are
    [2 * intermediate] and [hidden], or None.
    """

    gate_up: Linear
    down: Linear
    gate_up_bias: torch.Tensor | None = None
    down_bias: torch.Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of all weights and biases."""
        biases = [b for b in (self.gate_up_bias, self.down_bias) if b is not None]
        own = sum(b.numel() * b.element_size() for b in biases)
        return self.gate_up.nbytes + self.down.nbytes + own

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Transform each row."""
        both = self.gate_up(x)
        if self.gate_up_bias is not None:
            both += self.gate_up_bias
        gate, up = both.chunk(2, -1)
        out = self.down(torch.nn.functional.silu(gate).mul_(up))
        if self.down_bias is not None:
            out += self.down_bias
        return out
