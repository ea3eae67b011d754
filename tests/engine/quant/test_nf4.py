"""NF4 rounding: sixteen uneven levels of the largest value of each block of 64."""

import pytest
import torch

from engine.quant.layout import DenseWeight
from engine.quant.nf4 import round_to_nf4

# of the largest value, as published with NF4
LEVELS = torch.tensor(
    [
        -1.0,
        -0.6961928,
        -0.5250731,
        -0.3949175,
        -0.2844414,
        -0.1847734,
        -0.0910500,
        0.0,
        0.0795803,
        0.1609302,
        0.2461123,
        0.3379152,
        0.4407098,
        0.5626170,
        0.7229568,
        1.0,
    ]
)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_every_value_goes_to_the_nearest_level():
    values = torch.randn(8, 192)
    rounded, num_bytes = round_to_nf4(DenseWeight(values))
    blocks = values.view(-1, 64)
    limits = blocks.abs().amax(1, keepdim=True)
    nearest = (blocks.unsqueeze(2) / limits.unsqueeze(2) - LEVELS).abs().argmin(2)
    expected = LEVELS[nearest] * limits
    assert torch.allclose(rounded.values.view(-1, 64), expected, atol=1e-3)
    assert num_bytes == values.numel() // 2 + values.numel() // 64 * 4
