"""Which products the tests of this folder are about."""

import pytest

from engine.quant import embedding, linear
from engine.quant.native_cpu import make_native


@pytest.fixture(autouse=True)
def _torch_products(monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose as on a machine without the native core, whose products have tests of their own."""
    for module in (linear, embedding):
        monkeypatch.setattr(module, "make_native", lambda _weight, _precision: None)


@pytest.fixture
def native_products(_torch_products: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Choose the native products where they are."""
    for module in (linear, embedding):
        monkeypatch.setattr(module, "make_native", make_native)
