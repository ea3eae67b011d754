"""Rotary position embedding of the trailing dimensions of a head, neighbours in pairs.

Dimension 2i of the rotated part turns together with dimension 2i + 1, as in the published
weights. Values carry a rotation as well as keys, for they are the same rows; what attention
returns is turned back by the query's position.
"""

import torch

from engine.model.config import RopeScaling
from engine.model.rope import attention_factor, inverse_frequencies


class Rotation:
    """One set of frequencies."""

    def __init__(
        self, rotary_dim: int, theta: float, scaling: RopeScaling | None, device: torch.device
    ) -> None:
        self._frequencies = inverse_frequencies(rotary_dim, theta, scaling).to(device)
        self._factor = attention_factor(scaling)

    def turns(self, positions: torch.Tensor) -> torch.Tensor:
        """The turn of each pair at ``positions`` (int64 [T]): complex64 [T, rotary_dim / 2]."""
        angles = torch.outer(positions.float(), self._frequencies)
        return torch.polar(torch.full_like(angles, self._factor), angles)


def rotate(rows: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    """Turn the last dimensions of ``rows`` [T, D] or [T, heads, D] by ``turns`` [T, pairs]."""
    rotary_dim = 2 * turns.shape[-1]
    if rows.dim() == 3:
        turns = turns.unsqueeze(1)
    still, turning = rows[..., :-rotary_dim], rows[..., -rotary_dim:]
    pairs = torch.view_as_complex(turning.float().reshape(*turning.shape[:-1], -1, 2))
    turned = torch.view_as_real(pairs * turns).flatten(-2)
    return torch.cat((still, turned.to(rows.dtype)), -1)
