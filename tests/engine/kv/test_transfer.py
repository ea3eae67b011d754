"""Blocks keep their content through copies and through bytes, whatever holds them."""

import pytest
import torch

from engine.config import KVFormat, KVGeometry
from engine.kv.split import SplitStorage
from engine.kv.storage import PagedStorage
from engine.kv.transfer import block_bytes, block_nbytes, copy_block, fill_block

GEOMETRY = KVGeometry(
    num_layers=3, num_kv_heads=2, head_dim=4, block_size=4, num_blocks=5, format=KVFormat.BFLOAT16
)
CPU = torch.device("cpu")


def _storages() -> list[PagedStorage]:
    whole = PagedStorage(GEOMETRY, CPU)
    return [whole, SplitStorage(GEOMETRY, [(CPU, 1), (CPU, 2)])]


def _write(storage: PagedStorage, block: int, seed: int) -> torch.Tensor:
    values = torch.randn(3, 4, 4, 4, generator=torch.Generator().manual_seed(seed))
    for layer in range(3):
        slots = torch.arange(block * 4, block * 4 + 4)
        storage.append(layer, slots, values[layer])
    return values.to(torch.bfloat16).to(torch.float32)


def _read(storage: PagedStorage, block: int) -> torch.Tensor:
    reader = storage.reader([block], 4, torch.float32)
    layers = [torch.cat(reader.read(layer)).transpose(0, 1).clone() for layer in range(3)]
    return torch.stack(layers)


@pytest.mark.parametrize("storage", _storages(), ids=["whole", "split"])
def test_a_copy_holds_the_same_and_its_neighbours_are_untouched(storage: PagedStorage) -> None:
    one, two = _write(storage, 1, 1), _write(storage, 2, 2)
    copy_block(storage, 1, 3)
    assert torch.equal(_read(storage, 3), one)
    assert torch.equal(_read(storage, 2), two)
    assert not _read(storage, 4).any()


@pytest.mark.parametrize("storage", _storages(), ids=["whole", "split"])
def test_bytes_and_back(storage: PagedStorage) -> None:
    values = _write(storage, 0, 3)
    data = block_bytes(storage, 0)
    assert len(data) == block_nbytes(storage) == GEOMETRY.bytes_per_block
    fill_block(storage, 4, data)
    assert torch.equal(_read(storage, 4), values)


def test_bytes_of_another_geometry_are_refused() -> None:
    with pytest.raises(ValueError, match="bytes"):
        fill_block(_storages()[0], 0, b"short")
