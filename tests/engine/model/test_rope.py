"""Frequencies against their definition, and the rotation against a rotation of pairs."""

import math

import pytest
import torch

from engine.errors import ModelUnsupportedError
from engine.model.config import RopeScaling
from engine.model.rope import RotaryTable, inverse_frequencies

CPU = torch.device("cpu")


def test_plain_frequencies() -> None:
    expected = torch.tensor([1.0, 10000**-0.25, 10000**-0.5, 10000**-0.75])
    torch.testing.assert_close(inverse_frequencies(8, 10000.0), expected)


def test_linear_scaling_divides() -> None:
    scaled = inverse_frequencies(8, 10000.0, RopeScaling("linear", factor=4.0))
    torch.testing.assert_close(scaled, inverse_frequencies(8, 10000.0) / 4)


def test_llama3_keeps_fast_and_divides_slow_frequencies() -> None:
    scaling = RopeScaling(
        "llama3",
        factor=8.0,
        original_max_position=8192,
        low_freq_factor=1.0,
        high_freq_factor=4.0,
    )
    plain = inverse_frequencies(128, 500000.0)
    ratio = plain / inverse_frequencies(128, 500000.0, scaling)
    wavelengths = 2 * math.pi / plain
    fast, slow = ratio[wavelengths < 8192 / 4], ratio[wavelengths > 8192]
    torch.testing.assert_close(fast, torch.ones_like(fast))
    torch.testing.assert_close(slow, torch.full_like(slow, 8.0))
    assert min(len(fast), len(slow)) > 20
    between = ratio[(wavelengths >= 8192 / 4) & (wavelengths <= 8192)]
    assert bool(((between > 1) & (between < 8)).all())


def test_stored_factors_divide_each_pair() -> None:
    scaling = RopeScaling("factors", freq_factors=(1.0, 2.0, 4.0, 8.0))
    plain = inverse_frequencies(8, 10000.0)
    torch.testing.assert_close(
        inverse_frequencies(8, 10000.0, scaling), plain / torch.tensor([1.0, 2.0, 4.0, 8.0])
    )


@pytest.mark.parametrize("kind", ["dynamic", "yarn", "longrope"])
def test_unknown_kinds_are_refused(kind: str) -> None:
    with pytest.raises(ModelUnsupportedError, match=kind):
        inverse_frequencies(8, 10000.0, RopeScaling(kind, factor=2.0))


def test_rotates_each_pair_by_its_angle() -> None:
    frequencies = inverse_frequencies(8, 10000.0)
    table = RotaryTable(frequencies, torch.float32, CPU)
    table.reserve(2000)
    positions = torch.tensor([0, 1, 1999])
    heads = torch.randn(3, 2, 8, generator=torch.Generator().manual_seed(1))
    pairs = torch.complex(heads[..., :4], heads[..., 4:])
    angles = torch.outer(positions.float(), frequencies).unsqueeze(1)
    turned = pairs * torch.polar(torch.ones_like(angles), angles)
    turned *= torch.tensor([[0.5], [1.0]])
    cosines, sines = table.rows(positions, torch.tensor([[0.5], [1.0]]))
    rotated = table.rotate_(heads.clone(), cosines, sines)
    torch.testing.assert_close(rotated, torch.cat((turned.real, turned.imag), -1))


def test_growing_keeps_the_rows() -> None:
    table = RotaryTable(inverse_frequencies(8, 10000.0), torch.float32, CPU)
    table.reserve(10)
    before = table.rows(torch.arange(10), torch.ones(1, 1))
    table.reserve(table.num_positions + 1)
    after = table.rows(torch.arange(10), torch.ones(1, 1))
    torch.testing.assert_close(before, after, rtol=0, atol=0)
