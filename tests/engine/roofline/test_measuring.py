"""Every figure is measured, on little enough to be quick."""

import math

import pytest
import torch

from engine.roofline import measuring
from engine.roofline.measuring import measure

SMALL = {
    "BUFFER_BYTES": 1 << 20,
    "MATRIX": 64,
    "ROWS": 16,
    "CONTEXT": 64,
    "ROW_SET_BYTES": 1 << 14,
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name, value in SMALL.items():
        monkeypatch.setattr(measuring, name, value)


def test_every_figure_is_measured():
    before = torch.get_num_threads()
    values = measure(threads=1).as_json()
    assert torch.get_num_threads() == before
    device, host = values.pop("device"), values.pop("host")
    assert device == ("cuda" if torch.cuda.is_available() else "cpu")
    assert (host is not None) == torch.cuda.is_available()
    assert values["threads"] == 1
    assert all(math.isfinite(value) and value > 0 for value in values.values())
