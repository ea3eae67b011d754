import pytest
import torch

from engine.kernels import abi
from engine.kernels.matrix import GROUP_SIZE, _pack, pack_int4, pack_int8

ROWS = (1, 2, 3, 4, 5, 8, 17, 64, 65, 512)
SHAPES = ((16, 32), (1, 32), (48, 96), (70, 64), (960, 576))


def random_int4(n, k):
    groups = (n, k // GROUP_SIZE)
    quants = torch.randint(0, 16, (n, k), dtype=torch.uint8)
    scales = torch.rand(groups).mul_(0.02).half().float()
    offsets = torch.randn(groups).mul_(0.1).half().float()
    return quants, scales, offsets


def widen(quants, scales, offsets=None):
    groups = quants.float().view(*scales.shape, -1) * scales.unsqueeze(-1)
    if offsets is not None:
        groups += offsets.unsqueeze(-1)
    return groups.view(quants.shape)


def rounded(x):
    """The rows as the core rounds them: 8 bits, a scale for 32 columns."""
    groups = x.view(x.shape[0], -1, GROUP_SIZE)
    steps = groups.abs().amax(-1, keepdim=True) / 127
    quants = (groups / torch.where(steps > 0, steps, 1.0)).round_()
    return (quants * steps).view(x.shape)


def random_rows(m, k):
    x = torch.randn(m, k)
    x[:, 0] *= 50  # a massive activation
    return x


def assert_close(y, x, w):
    exact = rounded(x).double() @ w.double().t()
    # a quant that lies halfway may be rounded to either side
    tolerance = 2e-3 * float(exact.abs().max()) + 1e-6
    torch.testing.assert_close(y.double(), exact, rtol=0, atol=tolerance)
    near = (y.double() - exact).abs().mean() / exact.abs().mean()
    assert float(near) < 1e-4


def rows_for(core, shape):
    """The slow twin gets fewer rows of the large matrix."""
    return [m for m in ROWS if core.instruction_set != "portable" or m * shape[0] < 40_000]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("shape", SHAPES)
def test_int4_multiplies_as_its_values_do(core, shape, threads):
    parts = random_int4(*shape)
    packed = pack_int4(core, *parts)
    for m in rows_for(core, shape):
        x = random_rows(m, shape[1])
        assert_close(packed.multiply(x, threads), x, widen(*parts))


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("shape", SHAPES)
def test_groups_around_zero_need_no_offsets(core, shape, threads):
    quants, scales, offsets = random_int4(*shape)
    even = pack_int4(core, quants, scales, scales * -8)
    whole = pack_int4(core, quants, scales, offsets)
    gain = even.struct.gain
    halves = ((scales / gain).half(), (scales * -8 / gain).half(), None)
    kept = _pack(core, abi.KIND_INT4, quants, halves, gain)
    assert (shape[1] < 64) == (even.nbytes == whole.nbytes)  # blocks are whole cache lines
    w = widen(quants, scales, scales * -8)
    for m in rows_for(core, shape):
        x = random_rows(m, shape[1])
        assert_close(even.multiply(x, threads), x, w)
        assert torch.equal(even.multiply(x, threads), kept.multiply(x, threads))
    ids = torch.arange(shape[0]).flip(0)
    torch.testing.assert_close(even.rows(ids), w[ids])


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("is_grouped", [True, False])
@pytest.mark.parametrize("shape", SHAPES)
def test_int8_multiplies_as_its_values_do(core, shape, is_grouped, threads):
    n, k = shape
    quants = torch.randint(-128, 128, shape, dtype=torch.int8)
    scales = torch.rand(n, k // GROUP_SIZE).mul_(0.01).half().float()
    if not is_grouped:
        scales = scales[:, 0].clone()
    w = widen(quants, scales if is_grouped else scales.view(n, 1))
    packed = pack_int8(core, quants, scales)
    for m in rows_for(core, shape):
        x = random_rows(m, k)
        assert_close(packed.multiply(x, threads), x, w)


def test_extreme_bytes_do_not_saturate(core):
    quants = torch.full((16, 64), 127, dtype=torch.int8)
    quants[8:] = -128
    packed = pack_int8(core, quants, torch.ones(16))
    x = torch.full((3, 64), 127.0)
    x[1] = -127
    torch.testing.assert_close(packed.multiply(x, 1), x @ quants.float().t())


@pytest.mark.parametrize("size", [2.0**-40, 1.0, 2.0**40])
def test_scales_of_any_size_keep_their_digits(core, size):
    quants, scales, offsets = random_int4(32, 64)
    packed = pack_int4(core, quants, scales * size, offsets * size)
    x = random_rows(2, 64)
    assert_close(packed.multiply(x, 2) / size, x, widen(quants, scales, offsets))


def test_rows_of_zeros_and_no_rows(core):
    packed = pack_int4(core, *random_int4(48, 64))
    assert torch.equal(packed.multiply(torch.zeros(3, 64), 2), torch.zeros(3, 48))
    assert packed.multiply(torch.empty(0, 64), 2).shape == (0, 48)


def test_a_row_does_not_depend_on_its_batch(core):
    packed = pack_int4(core, *random_int4(64, 96))
    x = random_rows(70, 96)
    together = packed.multiply(x, 2)
    alone = torch.cat([packed.multiply(row.view(1, -1), 1) for row in x])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_rows_are_read_back(core):
    parts = random_int4(70, 64)
    quants = torch.randint(-128, 128, (70, 64), dtype=torch.int8)
    scales = torch.rand(70, 2).half().float()
    ids = torch.tensor([69, 0, 17, 17])
    packed = (
        (pack_int4(core, *parts), widen(*parts)),
        (pack_int8(core, quants, scales), widen(quants, scales)),
        (pack_int8(core, quants, scales[:, 0]), widen(quants, scales[:, :1])),
    )
    for matrix, values in packed:
        torch.testing.assert_close(matrix.rows(ids), values[ids])


def test_columns_must_fill_groups(core):
    with pytest.raises(ValueError, match="40 columns"):
        pack_int8(core, torch.zeros(16, 40, dtype=torch.int8), torch.ones(16))


def test_memory_is_what_the_layout_says(core):
    # 4 bits a weight, and 2 x 16 bits for 32 of them
    assert pack_int4(core, *random_int4(32, 64)).nbytes == 32 * 64 * 5 // 8
