"""INT8 products on the CPU: 8-bit weights with a scale a row, activations quantised on the fly.

Two ways to hold the same ChannelInt8Weight:

* ``Int8Linear`` packs it for torch's dynamic product (fastest; the packing is opaque);
* ``Int8TableLinear`` multiplies by the plain [N, K] table, so that an embedding can share it.

A few channels of a language model's activations are far larger than the rest, and one step for a
whole row would round the rest away. So each row is multiplied as the sum of two: its values cut
off at an eighth of its largest one, in steps an eighth as wide, and what was cut off.

Slow twin of both: ``weight.dequantize()`` and a float product.
"""

import functools
import warnings

import torch
from typing_extensions import override

from engine.quant.layout import ChannelInt8Weight
from engine.quant.product import Linear

# torch has no public name for these two
_multiply_int8 = torch._int_mm  # noqa: SLF001 - the only door
_as_quantized = torch._make_per_channel_quantized_tensor  # noqa: SLF001 - the only door

_TINY = 1e-30
_SMALL = 0.05  # the dynamic product takes no steps under 6e-5: rows within this are scaled first
_CUT = 0.125  # of a row's largest value


@functools.cache
def has_fast_int8() -> bool:
    """Whether torch's INT8 products run here and give the right numbers (tried, not assumed).

    All-extreme operands show the saturation that 8-bit products without VNNI can suffer.
    """
    values = torch.full((1, 64), 127, dtype=torch.int8)
    exact = 127 * 127 * 64
    try:
        packed = _pack(ChannelInt8Weight(values, torch.ones(1)))
        dynamic = torch.ops.quantized.linear_dynamic(torch.full((2, 64), 127.0), packed)
        table = _multiply_int8(values.repeat(2, 1), values.t())
    except RuntimeError:
        return False
    is_exact = bool((table == exact).all())
    return is_exact and bool(((dynamic - exact).abs() < exact * 0.02).all())


def _pack(weight: ChannelInt8Weight) -> torch.ScriptObject:
    with warnings.catch_warnings():
        # torch announces the end of its quantised tensor types; the product itself stays
        warnings.filterwarnings("ignore", "torch.quantize_per_tensor", UserWarning)
        zero_points = torch.zeros(weight.shape[0], dtype=torch.int64)
        tensor = _as_quantized(weight.quants, weight.scales.double(), zero_points, 0)
        packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(tensor, None)
    return packed


class Int8Linear(Linear):
    """x @ W.T through ``quantized.linear_dynamic``.

    That product quantises its whole input with one scale, and a single row with a massive
    activation would round all other rows to zero. So each row is first scaled to [-1, 1], which
    makes the quantisation one a row, and an answer independent of what shares its batch.
    """

    def __init__(self, weight: ChannelInt8Weight) -> None:
        self._out_features, self._in_features = weight.shape
        self._packed = _pack(weight)

    @property
    @override
    def in_features(self) -> int:
        return self._in_features

    @property
    @override
    def out_features(self) -> int:
        return self._out_features

    @property
    @override
    def nbytes(self) -> int:
        # quants, a float scale and an int32 zero point a row
        return self._out_features * (self._in_features + 8)

    @property
    @override
    def kernel(self) -> str:
        return "INT8 product, activations quantised a row, large ones apart"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        rows = x.float()
        if rows.shape[0] == 1:
            limit = float(torch.linalg.vector_norm(rows, torch.inf))
            if limit > _SMALL:
                return self._multiply_one(rows, limit * _CUT).to(x.dtype)
        pairs, limits = _split_rows(rows)
        y: torch.Tensor = torch.ops.quantized.linear_dynamic(pairs, self._packed)
        return _join_rows(y, limits).to(x.dtype)

    def _multiply_one(self, row: torch.Tensor, cut: float) -> torch.Tensor:
        """The same for one row [1, K], which the product scales by itself, in fewer steps."""
        inner = row.clamp(-cut, cut)
        pair = torch.cat((inner * (1 / _CUT), row - inner))
        y: torch.Tensor = torch.ops.quantized.linear_dynamic(pair, self._packed)
        return torch.add(y[1:], y[:1], alpha=_CUT)


def _split_rows(rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows [M, K] -> [2 M, K] within -1 to 1, and the largest value of each row, [M, 1].

    The first M are the values cut off at +-_CUT, stretched by 1 / _CUT; the others are the rest.
    """
    count = rows.shape[0]
    limits = rows.abs().amax(dim=1, keepdim=True).clamp_(min=_TINY)
    pairs = rows.new_empty(2 * count, rows.shape[1])
    inner, outer = pairs[:count], pairs[count:]
    torch.div(rows, limits, out=outer)
    torch.clamp(outer, -_CUT, _CUT, out=inner)
    outer -= inner
    inner *= 1 / _CUT
    return pairs, limits


def _join_rows(y: torch.Tensor, limits: torch.Tensor) -> torch.Tensor:
    """The products of both halves [2 M, N] -> those of the rows, [M, N]."""
    count = limits.shape[0]
    return torch.add(y[count:], y[:count], alpha=_CUT).mul_(limits)


class Int8TableLinear(Linear):
    """x @ W.T on the plain INT8 table, with x quantised symmetrically a row."""

    def __init__(self, weight: ChannelInt8Weight) -> None:
        """Keep ``weight`` itself: no copy is made, so whoever else holds it shares the memory."""
        self._quants = weight.quants
        self._scales = weight.scales

    @property
    @override
    def in_features(self) -> int:
        return self._quants.shape[1]

    @property
    @override
    def out_features(self) -> int:
        return self._quants.shape[0]

    @property
    @override
    def nbytes(self) -> int:
        return self._quants.numel() + self._scales.numel() * 4

    @property
    @override
    def kernel(self) -> str:
        return "INT8 product on the embedding's own table, large activations apart"

    @override
    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        pairs, limits = _split_rows(x.float())
        quants = pairs.mul_(127).round_().to(torch.int8)
        y = _multiply_int8(quants, self._quants.t()).float()
        return _join_rows(y, limits.div_(127)).mul_(self._scales).to(x.dtype)
