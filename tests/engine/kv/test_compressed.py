"""The compressed cache by block tables: whose state is whose, and what is allocated."""

import pytest
import torch

from engine.kv.compressed import Entries, Tail
from engine.kv.compressed_geometry import EntryForm
from engine.kv.compressed_state import CacheStateError
from tests.helpers.v4_models import SHORT, compressed_storage, v4_config

CONFIG = v4_config(**SHORT)
SIZE = CONFIG.compression.block_size


def run(storage, blocks, context, length, value=0.0):
    """A step whose rows all hold ``value``, finished."""
    step = storage.begin(blocks, context, length)
    for kind in Tail:
        tail = storage.empty_rows(kind, length)
        for layer in range(tail.shape[0]):
            step.stage(kind, layer, torch.full((length, tail.shape[2]), value))
    step.finish()
    return step


def window(storage, blocks, context):
    """The value of the last row of the window before ``context``."""
    step = storage.begin(blocks, context, 1)
    return step.tail(Tail.WINDOW, 0, context - 1)[-1][-1, 0].item()


def test_requests_have_their_own_past():
    storage = compressed_storage(CONFIG, 4)
    run(storage, (0,), 0, 3, 1.0)
    run(storage, (2,), 0, 5, 2.0)
    assert window(storage, (0,), 3) == 1.0
    assert window(storage, (2,), 5) == 2.0
    assert storage.num_states == 2


def test_a_block_of_a_new_owner_ends_its_former_ones_state():
    storage = compressed_storage(CONFIG, 4)
    run(storage, (1,), 0, 3, 1.0)
    run(storage, (0,), 0, SIZE, 2.0)
    run(storage, (0, 1), SIZE, 2, 2.0)  # grows into the block
    assert storage.num_states == 1
    with pytest.raises(CacheStateError, match="no state"):
        storage.begin((1,), 3, 1)


def test_released_states_are_used_again():
    storage = compressed_storage(CONFIG, 4)
    for first in (0, 1, 2, 3):
        run(storage, (first,), 0, 2)
        storage.release((first,))
    storage.release((2,))  # twice is nothing
    assert storage.num_states == 0
    assert storage.state_bytes == storage.geometry.state_bytes
    with pytest.raises(CacheStateError):
        storage.begin((3,), 2, 1)


def test_two_at_once_take_two_states():
    storage = compressed_storage(CONFIG, 4)
    run(storage, (0,), 0, 2)
    run(storage, (1,), 0, 2)
    assert storage.state_bytes == 2 * storage.geometry.state_bytes


@pytest.mark.parametrize("form", EntryForm, ids=str)
def test_allocation_is_exact_and_grows_with_entries_alone(form):
    few, many = (compressed_storage(CONFIG, blocks, form) for blocks in (3, 11))
    shape, width = CONFIG.compression, CONFIG.base.head_dim
    entry, key = form.entry_bytes(width), form.entry_bytes(shape.index_dim)
    per_block = shape.csa_layers * SIZE // 4 * (entry + key) + shape.hca_layers * SIZE // 16 * (
        entry
    )
    assert few.geometry.bytes_per_block == per_block
    assert few.nbytes == few.entry_bytes == 3 * per_block
    assert many.nbytes - few.nbytes == 8 * per_block
    run(few, (0, 1, 2), 0, 3 * SIZE)
    run(many, (0, 1, 2), 0, 3 * SIZE)
    assert few.state_bytes == many.state_bytes == few.geometry.state_bytes


@pytest.mark.parametrize("blocks", [(2, 3, 4), (4, 0, 3)], ids=["adjacent", "scattered"])
def test_entries_by_number(blocks):
    storage = compressed_storage(CONFIG, 5)
    step = storage.begin(blocks, 0, 3 * SIZE)
    rows = torch.arange(12.0).view(12, 1).expand(12, CONFIG.base.head_dim)
    step.write(Entries.CSA, 0, 0, rows[:5])
    step.write(Entries.CSA, 0, 5, rows[5:])
    read = step.read(Entries.CSA, 0, 3, 9, torch.float32)
    assert torch.equal(read, rows[3:9])
    chosen = torch.tensor([[11, 0], [7, 4]])
    gathered = step.gather(Entries.CSA, 0, chosen, torch.float32)
    assert torch.equal(gathered, rows[chosen])


def test_up_to_32_tokens_of_a_step_may_be_refused():
    storage = compressed_storage(CONFIG, 16)
    blocks = tuple(range(16))
    run(storage, blocks, 0, 100, 1.0)
    run(storage, blocks, 100 - 32, 33, 2.0)
    assert window(storage, blocks, 68) == 1.0
    run(storage, blocks, 68, 33, 2.0)
    assert window(storage, blocks, 69) == 2.0


def test_too_few_blocks():
    storage = compressed_storage(CONFIG, 4)
    with pytest.raises(ValueError, match="need 2 blocks"):
        storage.begin((0,), 0, SIZE + 1)


def test_it_is_no_cache_of_keys_and_values():
    storage = compressed_storage(CONFIG, 1)
    with pytest.raises(TypeError):
        storage.append(0, torch.zeros(1, dtype=torch.int64), torch.zeros(1, 2, 32))
    with pytest.raises(TypeError):
        storage.reader((0,), 1, torch.float32)
    with pytest.raises(TypeError):
        storage.block_tensors(0)
