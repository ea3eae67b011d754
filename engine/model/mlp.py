"""The gated feed-forward block (SwiGLU, GeGLU)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch

from engine.model.config import Activation
from engine.quant.linear import Linear

_ACTIVATIONS: Mapping[Activation, Callable[[torch.Tensor], torch.Tensor]] = {
    "silu": torch.nn.functional.silu,
    "gelu_tanh": partial(torch.nn.functional.gelu, approximate="tanh"),
}


def activation_function(name: Activation) -> Callable[[torch.Tensor], torch.Tensor]:
    """The elementwise function that opens the gate."""
    return _ACTIVATIONS[name]


@dataclass(frozen=True, slots=True, eq=False)
class GatedMLP:
    """x [T, hidden] -> down(activation(gate(x)) * up(x)).

    ``gate_up`` is one product, [T, 2 * intermediate]: the gate's columns before up's. Biases are
    [2 * intermediate] and [hidden], or None.
    """

    gate_up: Linear
    down: Linear
    gate_up_bias: torch.Tensor | None = None
    down_bias: torch.Tensor | None = None
    activation: Callable[[torch.Tensor], torch.Tensor] = torch.nn.functional.silu

    @property
    def nbytes(self) -> int:
        """Bytes of all weights and biases."""
        biases = [b for b in (self.gate_up_bias, self.down_bias) if b is not None]
        own = sum(b.numel() * b.element_size() for b in biases)
        return self.gate_up.nbytes + self.down.nbytes + own

    @property
    def products(self) -> Mapping[str, Linear]:
        """The products by name, for the model sheet."""
        return {"gate_up": self.gate_up, "down": self.down}

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Transform each row."""
        both = self.gate_up(x)
        if self.gate_up_bias is not None:
            both += self.gate_up_bias
        gate, up = both.chunk(2, -1)
        out = self.down(self.activation(gate).mul_(up))
        if self.down_bias is not None:
            out += self.down_bias
        return out
