"""The fast sums against torch's own normalisation."""

import pytest
import torch

from engine.model.norm import RMSNorm


@pytest.mark.parametrize("rows", [0, 1, 2, 33])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_equals_torch(rows: int, dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(2)
    x = (torch.randn(rows, 96, generator=draw) * 30).to(dtype)
    weight = torch.randn(96, generator=draw).to(dtype)
    expected = torch.nn.functional.rms_norm(x, (96,), weight, 1e-5)
    torch.testing.assert_close(RMSNorm(weight, 1e-5)(x), expected)


def test_a_row_of_zeros_stays_zero() -> None:
    norm = RMSNorm(torch.ones(8), 1e-5)
    assert norm(torch.zeros(1, 8)).abs().max() == 0
    assert norm(torch.zeros(2, 8)).abs().max() == 0
