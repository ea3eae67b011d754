"""The gated block against its formula."""

import math

import torch

from engine.api import Precision
from engine.model.mlp import GatedMLP, activation_function
from engine.quant.layout import DenseWeight
from engine.quant.linear import Linear, make_linear


def _linear(weight: torch.Tensor) -> Linear:
    return make_linear(DenseWeight(weight), Precision.FP32, torch.float32, torch.device("cpu"))


def test_gates_with_silu_and_adds_biases() -> None:
    draw = torch.Generator().manual_seed(4)
    gate, up = torch.randn(12, 8, generator=draw), torch.randn(12, 8, generator=draw)
    down, x = torch.randn(8, 12, generator=draw), torch.randn(3, 8, generator=draw)
    bias, down_bias = torch.randn(24, generator=draw), torch.randn(8, generator=draw)
    pair = _linear(torch.cat((gate, up)))
    gated = x @ gate.T
    plain = (gated * torch.sigmoid(gated) * (x @ up.T)) @ down.T
    torch.testing.assert_close(GatedMLP(pair, _linear(down))(x), plain, atol=1e-4, rtol=1e-4)
    gated = x @ gate.T + bias[:12]
    biased = (gated * torch.sigmoid(gated) * (x @ up.T + bias[12:])) @ down.T + down_bias
    torch.testing.assert_close(
        GatedMLP(pair, _linear(down), bias, down_bias)(x), biased, atol=1e-4, rtol=1e-4
    )


def test_gates_with_the_activation_asked_for() -> None:
    draw = torch.Generator().manual_seed(5)
    gate, up = torch.randn(12, 8, generator=draw), torch.randn(12, 8, generator=draw)
    down, x = torch.randn(8, 12, generator=draw), torch.randn(3, 8, generator=draw)
    gated = x @ gate.T
    inner = math.sqrt(2 / math.pi) * (gated + 0.044715 * gated**3)
    expected = (0.5 * gated * (1 + torch.tanh(inner)) * (x @ up.T)) @ down.T
    mlp = GatedMLP(
        _linear(torch.cat((gate, up))),
        _linear(down),
        activation=activation_function("gelu_tanh"),
    )
    torch.testing.assert_close(mlp(x), expected, atol=1e-4, rtol=1e-4)
