"""Bands: yes, no, and in between."""

import pytest

from engine.diagnosis import thresholds
from engine.diagnosis.thresholds import Band


def test_between_the_limits_nobody_can_tell() -> None:
    band = Band(0.4, 0.6)
    assert [band.judge(x) for x in (0.0, 0.39, 0.4, 0.59, 0.6, 9.0, None)] == [
        False,
        False,
        None,
        None,
        True,
        True,
        None,
    ]


def test_confidence_grows_with_the_distance() -> None:
    band = Band(0.4, 0.6)
    values = [band.confidence(x) for x in (0.6, 0.8, 1.0, 5.0)]
    assert values == pytest.approx([0.5, 0.75, 1.0, 1.0])


def test_every_band_has_a_margin() -> None:
    bands = [value for value in vars(thresholds).values() if isinstance(value, Band)]
    assert len(bands) >= 9
    assert all(0 < band.low < band.high and band.high / band.low >= 1.2 for band in bands)
