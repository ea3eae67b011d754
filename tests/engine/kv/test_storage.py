"""Reading back what was written, whatever the block table looks like."""

from dataclasses import replace

import pytest
import torch

from engine.config import KVFormat, KVGeometry
from engine.kv.storage import PagedStorage, float_type

GEOMETRY = KVGeometry(
    num_layers=2, num_kv_heads=3, head_dim=4, block_size=4, num_blocks=8, format=KVFormat.FLOAT32
)
CPU = torch.device("cpu")
TABLES = {"run": (2, 3, 4), "run at the end": (5, 6, 7), "scattered": (6, 1, 3), "back": (4, 3, 2)}


def _slots(block_ids: tuple[int, ...], length: int) -> torch.Tensor:
    size = GEOMETRY.block_size
    return torch.tensor([block_ids[p // size] * size + p % size for p in range(length)])


def _filled(kept: KVFormat, block_ids: tuple[int, ...], length: int):
    """A storage with random rows of one request; returns it with what was written, by layer."""
    storage = PagedStorage(replace(GEOMETRY, format=kept), CPU)
    draw = torch.Generator().manual_seed(3)
    written = []
    for layer in range(GEOMETRY.num_layers):
        rows = torch.randn(length, 6, 4, generator=draw)
        storage.append(layer, _slots(block_ids, length), rows)
        written.append(rows)
    return storage, written


@pytest.mark.parametrize("length", [1, 4, 5, 11, 12])
@pytest.mark.parametrize("block_ids", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("stored", [KVFormat.FLOAT32, KVFormat.BFLOAT16, KVFormat.FLOAT16])
def test_reads_what_was_appended(
    stored: KVFormat, block_ids: tuple[int, ...], length: int
) -> None:
    storage, written = _filled(stored, block_ids, length)
    dtype = float_type(stored)
    reader = storage.reader(block_ids, length, torch.float32)
    for layer, rows in enumerate(written):
        keys, values = reader.read(layer)
        expected = rows.to(dtype).float().transpose(0, 1)
        assert keys.dtype == torch.float32
        torch.testing.assert_close(keys, expected[:3], rtol=0, atol=0)
        torch.testing.assert_close(values, expected[3:], rtol=0, atol=0)
        keys, values = storage.read(layer, block_ids, length)
        assert keys.dtype == dtype
        torch.testing.assert_close(values.float(), expected[3:], rtol=0, atol=0)


def test_adjacent_blocks_are_a_view_of_the_pool() -> None:
    storage, _ = _filled(KVFormat.FLOAT32, (2, 3, 4), 12)
    keys, _ = storage.read(1, (2, 3, 4), 10)
    again, _ = storage.read(1, (2, 3, 4), 10)
    assert keys.data_ptr() == again.data_ptr()
    storage.append(1, torch.tensor([2 * 4 + 9]), torch.full((1, 6, 4), 7.0))
    assert bool((keys[:, 9] == 7.0).all()), "a reader sees rows appended after it was made"


def test_a_reader_of_scattered_blocks_sees_later_rows() -> None:
    storage, _ = _filled(KVFormat.FLOAT32, (6, 1, 3), 9)
    reader = storage.reader((6, 1, 3), 10, torch.float32)
    storage.append(0, _slots((6, 1, 3), 10)[9:], torch.full((1, 6, 4), 7.0))
    keys, values = reader.read(0)
    assert bool((keys[:, 9] == 7.0).all())
    assert bool((values[:, 9] == 7.0).all())


def test_scratch_grows_and_shrinks_between_reads() -> None:
    storage, written = _filled(KVFormat.FLOAT32, (6, 1, 3), 12)
    for length in (1, 12, 3, 12):
        keys, _ = storage.read(0, (6, 1, 3), length)
        torch.testing.assert_close(keys, written[0][:length].transpose(0, 1)[:3])


def test_requests_do_not_touch_each_other() -> None:
    storage, written = _filled(KVFormat.FLOAT32, (6, 1, 3), 12)
    storage.append(0, _slots((0, 2, 4), 12), torch.full((12, 6, 4), 9.0))
    keys, _ = storage.read(0, (6, 1, 3), 12)
    torch.testing.assert_close(keys, written[0].transpose(0, 1)[:3])


def test_too_short_a_table_is_refused() -> None:
    storage = PagedStorage(GEOMETRY, CPU)
    with pytest.raises(ValueError, match="9 tokens need 3 blocks, not 2"):
        storage.read(0, (1, 2), 9)


def test_allocates_what_the_geometry_says() -> None:
    assert PagedStorage(GEOMETRY, CPU).nbytes == GEOMETRY.total_bytes
