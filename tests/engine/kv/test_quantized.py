"""Quantised storage: exact sizes, bounded errors, and blocks in any order."""

from dataclasses import replace

import pytest
import torch

from engine.config import KVFormat, KVGeometry
from engine.kv.quantized import SPAN, QuantizedStorage, decode, encode, make_storage, rotation_of
from engine.kv.split import SplitStorage
from engine.kv.storage import PagedStorage, SpanReader

CPU = torch.device("cpu")
GEOMETRY = KVGeometry(
    num_layers=3, num_kv_heads=2, head_dim=64, block_size=16, num_blocks=6, format=KVFormat.INT8
)
QUANTISED = [kept for kept in KVFormat if kept.is_quantised]
WIDTHS = [8, 32, 40, 64, 80, 96, 128, 256]


def _rows(*shape: int, seed: int = 1) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# ---------------------------------------------------------------------- vectors
@pytest.mark.parametrize("width", WIDTHS)
def test_bytes_of_a_vector(width):
    assert KVFormat.FLOAT32.vector_bytes(width) == 4 * width
    assert (
        KVFormat.BFLOAT16.vector_bytes(width) == KVFormat.FLOAT16.vector_bytes(width) == 2 * width
    )
    assert KVFormat.INT8.vector_bytes(width) == width + 2
    groups = width // 32 if width % 32 == 0 else 1
    assert KVFormat.INT4.vector_bytes(width) == width // 2 + 4 * groups


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kept", QUANTISED)
def test_codes_take_the_bytes_they_should(kept, width):
    codes, parameters = encode(_rows(5, 3, width), kept)
    assert codes.shape == (5, 3, kept.code_bytes(width))
    assert codes[0, 0].nbytes + parameters[0, 0].nbytes == kept.vector_bytes(width)


@pytest.mark.parametrize("offset", [0.0, 50.0])
@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1.0, 1e3])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kept", QUANTISED)
def test_errors_are_half_a_step(kept, width, scale, offset):
    rows = (_rows(7, width) + offset) * scale
    groups = rows.unflatten(-1, (kept.num_groups(width), -1))
    if kept is KVFormat.INT8:
        step = groups.abs().amax(-1, keepdim=True) / 127
    else:
        step = (groups.amax(-1, keepdim=True) - groups.amin(-1, keepdim=True)) / 15
    errors = (decode(*encode(rows, kept), kept) - rows).abs().unflatten(-1, (groups.shape[-2], -1))
    # parameters have 11 bits, and steps of 6e-8 at least, which 127 codes multiply
    slack = step / 100 + rows.abs().amax() / 2**11 + 4e-6
    assert bool((errors <= step / 2 + slack).all())


@pytest.mark.parametrize("kept", QUANTISED)
def test_extreme_values_stay_finite(kept):
    rows = torch.zeros(4, 64)
    rows[1] = 1e30
    rows[2, 3] = -1e30
    rows[3] = 7.0
    made = decode(*encode(rows, kept), kept)
    assert made.isfinite().all()
    assert not made[0].any()
    torch.testing.assert_close(made[3], rows[3], rtol=1e-3, atol=0)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("kept", QUANTISED)
def test_a_rotation_twice_is_none(kept, width):
    rotation = rotation_of(kept, width)
    torch.testing.assert_close(rotation @ rotation, torch.eye(width))
    assert torch.equal(rotation, rotation.T)


@pytest.mark.parametrize("kept", QUANTISED)
def test_a_rotation_makes_outliers_cheap(kept):
    rows = _rows(200, 64)
    rows[:, 5] *= 40
    rotation = rotation_of(kept, 64)

    def error(by: torch.Tensor) -> float:
        return float((decode(*encode(rows @ by, kept), kept) @ by - rows)[:, 6:].norm())

    assert error(rotation) < 0.6 * error(torch.eye(64))


# ---------------------------------------------------------------------- storage
def _filled(kept: KVFormat, blocks: tuple[int, ...], length: int):
    storage = make_storage(replace(GEOMETRY, format=kept), CPU)
    assert isinstance(storage, QuantizedStorage)
    slots = torch.tensor([blocks[i // 16] * 16 + i % 16 for i in range(length)])
    written = _rows(3, length, 4, 64)
    for layer in range(3):
        storage.append(layer, slots, written[layer])
    return storage, written


@pytest.mark.parametrize("blocks", [(1, 2, 3), (5, 0, 2)], ids=["run", "scattered"])
@pytest.mark.parametrize("length", [1, 15, 16, 17, 48])
@pytest.mark.parametrize(("kept", "error"), [(KVFormat.INT8, 0.01), (KVFormat.INT4, 0.1)])
def test_reads_nearly_what_was_appended(kept, error, length, blocks):
    storage, written = _filled(kept, blocks, length)
    reader = storage.reader(blocks, length, torch.float32)
    for layer in (2, 0, 1):
        rows = torch.cat(reader.read(layer)).transpose(0, 1)
        assert rows.shape == written[layer].shape
        assert float((rows - written[layer]).norm()) < error * float(written[layer].norm())


@pytest.mark.parametrize("kept", QUANTISED)
def test_tokens_one_by_one_are_as_all_at_once(kept):
    storage, written = _filled(kept, (3, 1), 20)
    other = make_storage(storage.geometry, CPU)
    for token in range(20):
        slot = torch.tensor([(3, 1)[token // 16] * 16 + token % 16])
        other.append(1, slot, written[1, token : token + 1])
    for got, expected in zip(
        other.reader((3, 1), 20, torch.float32).read(1),
        storage.reader((3, 1), 20, torch.float32).read(1),
        strict=True,
    ):
        torch.testing.assert_close(got, expected)


@pytest.mark.parametrize("kept", QUANTISED)
def test_spans_are_short_and_rotated(kept):
    geometry = replace(GEOMETRY, num_layers=1, num_blocks=3 * SPAN // 16, format=kept)
    storage = make_storage(geometry, CPU)
    length = 2 * SPAN + 5
    storage.append(0, torch.arange(length), _rows(length, 4, 64))
    reader = storage.reader(range(geometry.num_blocks), length, torch.float32)
    assert isinstance(reader, SpanReader)
    spans = list(reader.spans(0))
    assert [keys.shape[1] for keys, _ in spans] == [SPAN, SPAN, 5]
    whole = torch.cat([keys for keys, _ in spans], 1) @ reader.rotation
    torch.testing.assert_close(whole, reader.read(0)[0])


@pytest.mark.parametrize("kept", KVFormat)
def test_allocates_what_the_geometry_says(kept):
    geometry = replace(GEOMETRY, format=kept)
    storage = make_storage(geometry, CPU)
    assert storage.nbytes == geometry.total_bytes
    assert sum(t.nbytes for t in storage.block_tensors(1)) == geometry.bytes_per_block
    assert isinstance(storage, QuantizedStorage) is kept.is_quantised


@pytest.mark.parametrize("kept", QUANTISED)
def test_a_split_cache_holds_the_same(kept):
    geometry = replace(GEOMETRY, format=kept)
    split = SplitStorage(geometry, ((CPU, 1), (CPU, 2)))
    plain, written = _filled(kept, (4, 1), 20)
    slots = torch.tensor([(4, 1)[i // 16] * 16 + i % 16 for i in range(20)])
    for layer in range(3):
        split.append(layer, slots, written[layer])
    readers = [storage.reader((4, 1), 20, torch.float32) for storage in (split, plain)]
    for layer in (2, 0, 1):
        for got, expected in zip(*(reader.read(layer) for reader in readers), strict=True):
            assert torch.equal(got, expected)
    assert split.nbytes == plain.nbytes


def test_what_cannot_be_kept_is_refused():
    assert not KVFormat.INT4.can_keep(20)
    with pytest.raises(ValueError, match="heads of 20 values cannot be kept in INT4"):
        make_storage(replace(GEOMETRY, head_dim=20, format=KVFormat.INT4), CPU)
    assert isinstance(
        make_storage(replace(GEOMETRY, head_dim=20, format=KVFormat.FLOAT32), CPU), PagedStorage
    )


def test_too_short_a_table_is_refused():
    storage, _ = _filled(KVFormat.INT8, (0, 1), 20)
    with pytest.raises(ValueError, match="33 tokens need 3 blocks, not 2"):
        storage.reader((0, 1), 33, torch.float32)


# ---------------------------------------------------------------------- balance
def _uneven(length: int) -> torch.Tensor:
    """Rows as models make them: some channels of keys are large, always the same, or both."""
    rows = _rows(3, length, 4, 64)
    rows[:, :, :2, 7] += 30
    rows[:, :, :2, 8] *= 12
    rows[:, :, :2, 40] -= 15
    return rows


def _balanced(kept: KVFormat):
    storage = make_storage(replace(GEOMETRY, format=kept), CPU)
    assert isinstance(storage, QuantizedStorage)
    seen = _uneven(200)[:, :, :2]
    for layer in range(3):
        centres = seen[layer].mean(0)
        storage.balance(layer, (seen[layer] - centres).square().mean(0).pow(-0.25), centres)
    return storage


@pytest.mark.parametrize("kept", QUANTISED)
def test_balanced_keys_are_read_as_they_were_appended_and_better(kept):
    written, slots = _uneven(40), torch.arange(40)
    errors = []
    for storage in (_balanced(kept), make_storage(replace(GEOMETRY, format=kept), CPU)):
        storage.append(1, slots, written[1])
        keys, values = storage.reader(range(3), 40, torch.float32).read(1)
        errors.append(float((keys - written[1, :, :2].transpose(0, 1))[..., 9:40].norm()))
        torch.testing.assert_close(values, written[1, :, 2:].transpose(0, 1), atol=0.5, rtol=0)
    assert errors[0] < 0.75 * errors[1]


@pytest.mark.parametrize("kept", QUANTISED)
def test_scores_of_balanced_keys_differ_by_a_constant(kept):
    storage, written = _balanced(kept), _uneven(40)
    storage.append(2, torch.arange(40), written[2])
    reader = storage.reader(range(3), 40, torch.float32)
    assert isinstance(reader, SpanReader)
    queries = _rows(2, 5, 64, seed=9)
    rotated = queries * reader.query_factors(2) @ reader.rotation
    scores = torch.cat([rotated @ keys.transpose(1, 2) for keys, _ in reader.spans(2)], -1)
    exact = queries @ written[2, :, :2].permute(1, 2, 0)
    apart = scores - exact
    apart -= apart.mean(-1, keepdim=True)
    limit = 0.3 if kept is KVFormat.INT8 else 6.0
    assert float(apart.abs().max()) < limit
