"""NF4 and INT8 on a CUDA device, against the float product."""

import subprocess
import sys

import pytest
import torch

from engine.api import Precision
from engine.quant.bitsandbytes import make_cuda_linear
from engine.quant.dense import DenseLinear
from engine.quant.layout import DenseWeight


def test_is_not_imported_before_it_is_needed():
    code = "import sys, engine.quant.linear; sys.exit('bitsandbytes' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


def test_without_the_package_weights_are_dense(monkeypatch):
    monkeypatch.setitem(sys.modules, "bitsandbytes", None)
    monkeypatch.setitem(sys.modules, "bitsandbytes.nn.modules", None)
    weight = DenseWeight(torch.randn(8, 8))
    for precision in (Precision.INT4, Precision.INT8):
        linear = make_cuda_linear(weight, precision, torch.float32, torch.device("cpu"))
        assert type(linear) is DenseLinear


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("precision", "tolerance", "bytes_per_value"),
    [(Precision.INT4, 0.15, 0.6), (Precision.INT8, 0.03, 1.1)],
)
@pytest.mark.parametrize("m", [1, 7, 200])
def test_agrees_with_the_float_product(precision, tolerance, bytes_per_value, m):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    device = torch.device("cuda")
    weight = DenseWeight(torch.randn(256, 128))
    linear = make_cuda_linear(weight, precision, torch.float16, device)
    x = torch.randn(m, 128, device=device, dtype=torch.float16)
    y = linear(x)
    expected = x.float() @ weight.values.to(device).T
    assert y.dtype == x.dtype
    assert (y.float() - expected).norm() / expected.norm() < tolerance
    assert linear.nbytes <= 256 * 128 * bytes_per_value
