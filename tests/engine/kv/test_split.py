"""Pools on several devices read and write as one."""

import pytest
import torch

from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kv.split import SplitStorage
from engine.kv.storage import PagedStorage
from engine.kv.transfer import block_bytes, fill_block

CPU = torch.device("cpu")
GEOMETRY = KVGeometry(4, 2, 8, block_size=4, num_blocks=6, format=KVFormat.FLOAT32)


@pytest.mark.parametrize("blocks", [(1, 2, 3), (5, 0, 2)], ids=["adjacent", "scattered"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_equals_one_pool(blocks, dtype):
    split = SplitStorage(GEOMETRY, ((CPU, 1), (CPU, 3)))
    plain = PagedStorage(GEOMETRY, CPU)
    slots = torch.tensor([blocks[i // 4] * 4 + i % 4 for i in range(10)])
    draw = torch.Generator().manual_seed(2)
    for layer in range(4):
        rows = torch.randn(10, 4, 8, generator=draw)
        split.append(layer, slots, rows)
        plain.append(layer, slots, rows)
    readers = split.reader(blocks, 10, dtype), plain.reader(blocks, 10, dtype)
    for layer in (3, 0, 2, 1):
        for got, expected in zip(*(reader.read(layer) for reader in readers), strict=True):
            assert torch.equal(got, expected)
    assert torch.equal(split.read(2, blocks, 7)[1], plain.read(2, blocks, 7)[1])
    assert split.nbytes == plain.nbytes == sum(pool.nbytes for pool in split.pools)
    assert [pool.geometry.num_layers for pool in split.pools] == [1, 3]


def test_runs_must_make_all_layers():
    with pytest.raises(ValueError, match="do not make 4 layers"):
        SplitStorage(GEOMETRY, ((CPU, 1), (CPU, 2)))


@pytest.mark.parametrize("kept", list(KVFormat))
def test_a_device_may_have_no_layer_of_a_kind(kept):
    groups = (LayerGroup((0,), 10), LayerGroup((1, 2), 6, 40, 16))
    geometry = KVGeometry(3, 2, 32, 16, 10, kept, groups)
    storage = SplitStorage(geometry, ((CPU, 1), (torch.device("cpu", 0), 2)))
    assert storage.nbytes == sum(part.nbytes for part in storage.parts)
    rows = torch.randn(3, 4, 32, generator=torch.Generator().manual_seed(1))
    for layer in range(3):
        storage.append(layer, torch.tensor([17, 18, 19]), rows)
    for group, layers in enumerate(((0,), (1, 2))):
        part = storage.parts[group]
        fill_block(part, 3, block_bytes(part, 1))
        for block in (1, 3):
            reader = storage.layer_reader(group, (block,), 4, torch.float32)
            for layer in layers:
                keys, values = (read[:, 1:].transpose(0, 1) for read in reader.read(layer))
                assert float((torch.cat((keys, values), 1) - rows).abs().max()) < 0.6
