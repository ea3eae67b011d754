"""Draws depend on seed and count alone, and are evenly spread."""

import numpy as np

from engine.sampling.uniform import uniform


def test_pure_and_in_range() -> None:
    draws = [uniform(seed, index) for seed in range(50) for index in range(50)]
    assert draws == [uniform(seed, index) for seed in range(50) for index in range(50)]
    assert all(0 <= draw < 1 for draw in draws)
    assert len(set(draws)) == len(draws)


def test_evenly_spread_along_counts_and_seeds() -> None:
    for draws in (
        [uniform(7, index) for index in range(20_000)],
        [uniform(seed, 0) for seed in range(20_000)],
        [uniform(seed, seed) for seed in range(20_000)],
    ):
        counts, _ = np.histogram(draws, bins=20, range=(0, 1))
        chi_square = float(((counts - 1000) ** 2 / 1000).sum())
        assert chi_square < 50  # 19 degrees of freedom: p < 0.0002
        assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 0.03


def test_extreme_seeds() -> None:
    assert 0 <= uniform(2**64 - 1, 2**40) < 1
    assert uniform(0, 0) != uniform(2**64 - 1, 0)
