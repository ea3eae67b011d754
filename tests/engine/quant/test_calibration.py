"""Grids chosen for the output: closer there than the closest weights, and never damaged."""

import pytest
import torch

from engine.errors import LoadCancelledError
from engine.quant import calibration, quantize
from engine.quant.calibration import OutputFit
from engine.quant.layout import DenseWeight, GroupedInt4Weight
from engine.quant.quantize import to_grouped_int4


def nothing() -> None:
    """Go on."""


def correlated(tokens: int, columns: int) -> torch.Tensor:
    """Inputs of which some are large and many come and go together, as real ones do."""
    shared = torch.randn(tokens, columns // 4) @ torch.randn(columns // 4, columns)
    x = shared / (columns // 4) ** 0.5 + 0.3 * torch.randn(tokens, columns)
    return x * torch.logspace(-1, 0.5, columns)[torch.randperm(columns)]


def output_error(weight: GroupedInt4Weight, exact: torch.Tensor, x: torch.Tensor) -> float:
    truth = x @ exact.T
    return float((x @ weight.dequantize().T - truth).norm() / truth.norm())


@pytest.mark.parametrize(("rows", "columns"), [(48, 128), (7, 256)])
def test_the_output_is_closer_than_with_the_closest_weights(rows, columns):
    x = correlated(1024, columns)
    exact = torch.randn(rows, columns) * 0.05
    plain = to_grouped_int4(DenseWeight(exact))
    fitted = OutputFit(x, nothing).fit(DenseWeight(exact))
    assert fitted.group_size == 32
    assert fitted.quants.dtype == torch.uint8
    assert fitted.quants.max() <= 15
    assert output_error(fitted, exact, x) < 0.7 * output_error(plain, exact, x)


def test_it_holds_for_inputs_that_were_not_seen():
    inputs = correlated(3000, 128)
    x, unseen = inputs[:2500], inputs[2500:]
    exact = torch.randn(64, 128) * 0.05
    plain = to_grouped_int4(DenseWeight(exact))
    fitted = OutputFit(x, nothing).fit(DenseWeight(exact))
    assert output_error(fitted, exact, unseen) < 0.75 * output_error(plain, exact, unseen)


def test_each_sweep_brings_the_output_closer(monkeypatch):
    x = correlated(512, 128)
    exact = torch.randn(32, 128) * 0.05
    errors = []
    for sweeps in (0, 1, 3):
        monkeypatch.setattr(calibration, "_SWEEPS", sweeps)
        errors.append(output_error(OutputFit(x, nothing).fit(DenseWeight(exact)), exact, x))
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < errors[0]


def test_wide_matrices_are_rounded_in_parts(monkeypatch):
    monkeypatch.setattr(calibration, "WIDEST", 96)
    x = correlated(512, 224)
    exact = torch.randn(16, 224) * 0.05
    fitted = OutputFit(x, nothing).fit(DenseWeight(exact))
    plain = to_grouped_int4(DenseWeight(exact))
    assert output_error(fitted, exact, x) < 0.8 * output_error(plain, exact, x)


def test_many_rows_are_taken_in_blocks(monkeypatch):
    x = correlated(256, 64)
    exact = torch.randn(50, 64)
    whole = OutputFit(x, nothing).fit(DenseWeight(exact))
    monkeypatch.setattr(quantize, "_BLOCK_VALUES", 64 * 9)
    parts = OutputFit(x, nothing).fit(DenseWeight(exact))
    assert torch.allclose(whole.dequantize(), parts.dequantize(), atol=1e-4)


def test_fewer_inputs_than_columns():
    x = correlated(20, 256)
    exact = torch.randn(16, 256) * 0.05
    fitted = OutputFit(x, nothing).fit(DenseWeight(exact))
    assert torch.isfinite(fitted.dequantize()).all()
    assert output_error(fitted, exact, x) < 0.05
    assert (fitted.dequantize() - exact).norm() / exact.norm() < 0.25


@pytest.mark.parametrize("value", [0.0, float("nan"), float("inf")])
def test_inputs_that_say_nothing(value):
    exact = DenseWeight(torch.randn(8, 64))
    fitted = OutputFit(torch.full((10, 64), value), nothing).fit(exact)
    assert torch.equal(fitted.dequantize(), to_grouped_int4(exact).dequantize())


def test_inputs_that_are_always_zero():
    x = correlated(256, 64)
    x[:, 5:40] = 0
    exact = torch.randn(8, 64)
    fitted = OutputFit(x, nothing).fit(DenseWeight(exact))
    assert (fitted.dequantize() - exact).norm() / exact.norm() < 0.25


def test_rows_without_a_range():
    exact = torch.randn(4, 64)
    exact[1] = 0
    exact[2] = 0.25
    fitted = OutputFit(correlated(128, 64), nothing).fit(DenseWeight(exact)).dequantize()
    assert torch.isfinite(fitted).all()
    assert fitted[1].abs().max() < 1e-5
    assert (fitted[2] - 0.25).abs().max() < 1e-4


def test_it_can_be_stopped_in_the_middle():
    asked = 0

    def stop() -> None:
        nonlocal asked
        asked += 1
        if asked > 3:
            raise LoadCancelledError("Loading was stopped.")

    with pytest.raises(LoadCancelledError):
        OutputFit(correlated(64, 64), stop).fit(DenseWeight(torch.randn(8, 64)))
