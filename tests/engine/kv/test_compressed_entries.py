"""Entries come back as they were kept, in every form."""

import pytest
import torch

from engine.config import KVFormat
from engine.kv.compressed_entries import EntryPool
from engine.kv.compressed_geometry import EntryForm
from engine.kv.quantized import decode, encode

CPU = torch.device("cpu")
WIDTH = 64
# the largest error, in parts of an entry's largest value
ERRORS = {
    EntryForm.FP32: 0.0,
    EntryForm.BF16: 0.005,
    EntryForm.FP16: 0.001,
    EntryForm.FP8: 0.07,
    EntryForm.INT8: 0.005,
    EntryForm.INT4: 0.08,
}


def entries(count: int) -> torch.Tensor:
    return torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("form", EntryForm, ids=str)
def test_written_and_read_back(form):
    pool = EntryPool(2, 20, WIDTH, form, CPU)
    rows, places = entries(5), torch.tensor([3, 17, 4, 0, 9])
    pool.write(1, places, rows)
    read = pool.read(1, places, torch.float32)
    limit = ERRORS[form] * rows.abs().amax(1, keepdim=True)
    assert ((read - rows).abs() <= limit).all()
    assert torch.equal(pool.read(1, slice(3, 5), torch.float32), read[[0, 2]])
    square = places[:4].view(2, 2)
    assert torch.equal(pool.read(1, square, torch.float32), read[:4].view(2, 2, WIDTH))
    assert (pool.read(0, places, torch.float32) == 0).all()


@pytest.mark.parametrize("form", EntryForm, ids=str)
def test_bytes_are_those_of_the_form(form):
    assert EntryPool(3, 10, WIDTH, form, CPU).nbytes == 30 * form.entry_bytes(WIDTH)


def test_quantised_entries_are_those_of_other_caches():
    pool = EntryPool(1, 4, WIDTH, EntryForm.INT4, CPU)
    rows = entries(4)
    pool.write(0, torch.arange(4), rows)
    twin = decode(*encode(rows, KVFormat.INT4), KVFormat.INT4)
    assert torch.equal(pool.read(0, slice(0, 4), torch.float32), twin)


def test_values_beyond_fp8_stay_numbers():
    pool = EntryPool(1, 1, WIDTH, EntryForm.FP8, CPU)
    pool.write(0, torch.tensor([0]), torch.full((1, WIDTH), -1e6))
    assert (pool.read(0, slice(0, 1), torch.float32) == -448).all()


def test_a_width_that_does_not_divide():
    with pytest.raises(ValueError, match="INT4"):
        EntryPool(1, 1, 12, EntryForm.INT4, CPU)


def test_no_layers_of_a_kind():
    assert EntryPool(0, 10, WIDTH, EntryForm.INT8, CPU).nbytes == 0
