"""The mixture against a loop over tokens."""

import pytest
import torch

from engine.api import Precision
from engine.model.experts import ExpertMixture
from engine.model.mlp import GatedMLP
from engine.quant.layout import DenseWeight
from engine.quant.linear import Linear, make_linear


def _linear(weight: torch.Tensor) -> Linear:
    return make_linear(DenseWeight(weight), Precision.FP32, torch.float32, torch.device("cpu"))


@pytest.mark.parametrize("is_normalised", [True, False])
@pytest.mark.parametrize("num_tokens", [1, 2, 37])
def test_each_token_gets_its_own_experts(num_tokens: int, is_normalised: bool) -> None:
    draw = torch.Generator().manual_seed(num_tokens)
    router = torch.randn(5, 8, generator=draw)
    experts = tuple(
        GatedMLP(
            _linear(torch.randn(24, 8, generator=draw)),
            _linear(torch.randn(8, 12, generator=draw)),
        )
        for _ in range(5)
    )
    x = torch.randn(num_tokens, 8, generator=draw)
    before = x.clone()
    mixed = ExpertMixture(_linear(router), experts, 2, is_normalised)(x)
    for token in range(num_tokens):
        weights, chosen = (router @ x[token]).softmax(0).topk(2)
        if is_normalised:
            weights = weights / weights.sum()
        expected = sum(
            weight * experts[int(expert)](x[token : token + 1])[0]
            for weight, expert in zip(weights, chosen, strict=True)
        )
        torch.testing.assert_close(mixed[token], expected, atol=1e-4, rtol=1e-4)
    assert torch.equal(x, before)


def test_counts_its_bytes_and_names_its_products() -> None:
    expert = GatedMLP(_linear(torch.zeros(24, 8)), _linear(torch.zeros(8, 12)))
    mixture = ExpertMixture(_linear(torch.zeros(3, 8)), (expert,) * 3, 1, is_normalised=True)
    assert mixture.nbytes == 4 * (3 * 8 + 3 * (24 * 8 + 8 * 12))
    assert list(mixture.products) == ["router", "gate_up", "down"]
