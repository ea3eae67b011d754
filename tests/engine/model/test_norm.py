"""The fast sums against torch's own normalisation."""

import pytest
import torch

from engine.model.norm import HeadNorm, ProjectionNorm, RMSNorm


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


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("rows", [1, 5])
def test_each_head_by_itself(rows: int, dtype: torch.dtype) -> None:
    draw = torch.Generator().manual_seed(rows)
    heads = torch.randn(rows, 6, 16, generator=draw).to(dtype)
    weight = torch.randn(4, 16, generator=draw).to(dtype)
    before = heads.clone()
    HeadNorm(weight, 1e-5).apply_(heads)
    for head in range(4):
        expected = torch.nn.functional.rms_norm(before[:, head], (16,), weight[head], 1e-5)
        torch.testing.assert_close(heads[:, head], expected, atol=2e-2, rtol=2e-2)
    assert torch.equal(heads[:, 4:], before[:, 4:])


@pytest.mark.parametrize("rows", [1, 5])
def test_all_heads_of_a_projection_together(rows: int) -> None:
    draw = torch.Generator().manual_seed(rows)
    heads = torch.randn(rows, 6, 16, generator=draw)
    q, k = torch.randn(48, generator=draw), torch.randn(16, generator=draw)
    before = heads.clone().view(rows, -1)
    norm = ProjectionNorm(RMSNorm(q, 1e-5), RMSNorm(k, 1e-5))
    norm.apply_(heads)
    after = heads.view(rows, -1)
    expected_q = torch.nn.functional.rms_norm(before[:, :48], (48,), q, 1e-5)
    expected_k = torch.nn.functional.rms_norm(before[:, 48:64], (16,), k, 1e-5)
    torch.testing.assert_close(after[:, :64], torch.cat((expected_q, expected_k), 1))
    assert torch.equal(after[:, 64:], before[:, 64:])
    assert norm.nbytes == 4 * 64
