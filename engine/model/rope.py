"""Rotary position embedding: frequencies, their scaling, and the rotation itself.

The half-split convention: dimension i of a head turns together with dimension i + head_dim / 2.
Knows nothing about layers or weights.
"""

import math

import torch

from engine.errors import ModelUnsupportedError
from engine.model.config import RopeScaling


def inverse_frequencies(
    rotary_dim: int, theta: float, scaling: RopeScaling | None = None
) -> torch.Tensor:
    """Radians a position for each rotated pair, float32 [rotary_dim / 2].

    Raises ModelUnsupportedError for a kind of scaling that this engine does not compute.
    """
    exponents = torch.arange(0, rotary_dim, 2, dtype=torch.int64).float() / rotary_dim
    plain = 1.0 / (theta**exponents)
    if scaling is None:
        return plain
    match scaling.kind:
        case "linear":
            return plain / scaling.factor
        case "llama3":
            return _llama3(plain, scaling)
        case "factors":
            return plain / torch.tensor(scaling.freq_factors, dtype=torch.float32)
        case "dynamic" | "yarn" | "longrope":
            raise ModelUnsupportedError(
                f"This model stretches its context with “{scaling.kind}” rotary scaling, which "
                "this version does not compute. Choose another model.",
                feature=f"rope scaling {scaling.kind}",
            )


def _llama3(plain: torch.Tensor, scaling: RopeScaling) -> torch.Tensor:
    """Divide slow frequencies by the factor, keep fast ones, and blend linearly in between.

    Slow and fast are told by the number of turns within the original context.
    """
    turns = scaling.original_max_position * plain / (2 * math.pi)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    kept = ((turns - low) / (high - low)).clamp(0.0, 1.0)
    return plain * kept + (plain / scaling.factor) * (1.0 - kept)


class RotaryTable:
    """Cosines and sines of every position, computed once and grown when a context asks for more.

    One step asks for ``rows`` of its positions; every layer then rotates in place with them.
    """

    def __init__(
        self, frequencies: torch.Tensor, dtype: torch.dtype, device: torch.device
    ) -> None:
        """Keep ``frequencies`` (float32 [head_dim / 2], radians a position)."""
        self._frequencies = frequencies
        self._half = frequencies.shape[0]
        self._cosines = torch.empty(0, 2 * self._half, dtype=dtype, device=device)
        self._sines = self._cosines

    @property
    def num_positions(self) -> int:
        """Positions tabulated so far."""
        return self._cosines.shape[0]

    def reserve(self, num_positions: int) -> None:
        """Tabulate at least positions [0, num_positions)."""
        if num_positions <= self.num_positions:
            return
        count = max(num_positions, 2 * self.num_positions, 1024)
        positions = torch.arange(count, dtype=torch.float32)
        angles = torch.outer(positions, self._frequencies)
        cosines, sines = angles.cos(), angles.sin()
        # The first half carries the minus of the rotation, so that rotating is a roll and no cat.
        self._sines = torch.cat((-sines, sines), -1).to(self._cosines)
        self._cosines = torch.cat((cosines, cosines), -1).to(self._cosines)

    def rows(
        self, positions: torch.Tensor, head_scales: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines for reserved ``positions`` (int64 [T]), each [T, heads, head_dim].

        ``head_scales`` [heads, 1] multiplies each head: the attention scale of the queries enters
        here, once a step, and costs nothing in the layers.
        """
        cosines = self._cosines.index_select(0, positions).unsqueeze(1)
        sines = self._sines.index_select(0, positions).unsqueeze(1)
        return cosines * head_scales, sines * head_scales

    def rotate_(
        self, heads: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor
    ) -> torch.Tensor:
        """Rotate ``heads`` [T, heads, head_dim] in place by the rows of this step."""
        swapped = heads.roll(self._half, -1)
        return heads.mul_(cosines).addcmul_(swapped, sines)
