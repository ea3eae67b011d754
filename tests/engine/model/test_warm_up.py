"""A loaded model's first passes: a piece of a prompt, then a step, told as they are done."""

import pytest
import torch

from engine.config import KVFormat, KVGeometry
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardInterruptedError
from engine.model.warm_up import warm_up


class Decoder:
    """Notes what it is given."""

    weights_bytes = 0

    def __init__(self):
        self.lengths = []

    def forward(self, batch, storage, interrupted):
        if interrupted():
            raise ForwardInterruptedError
        assert len(batch.slots) == len(batch.token_ids) <= storage.geometry.block_size
        assert batch.logit_rows.tolist() == [len(batch.token_ids) - 1]
        self.lengths.append(len(batch.token_ids))
        return torch.zeros(1, 4)


def storage_of(block_size):
    geometry = KVGeometry(1, 1, 8, block_size=block_size, num_blocks=2, format=KVFormat.FLOAT32)
    return PagedStorage(geometry, torch.device("cpu"))


@pytest.mark.parametrize(("block_size", "lengths"), [(16, [16, 1]), (4, [4, 1])])
def test_a_prompt_and_a_step(block_size, lengths):
    decoder, told = Decoder(), []
    warm_up(decoder, storage_of(block_size), lambda *done: told.append(done), lambda: False)
    assert decoder.lengths == lengths
    assert told == [(0, 2), (1, 2), (2, 2)]


def test_it_can_be_stopped():
    with pytest.raises(ForwardInterruptedError):
        warm_up(Decoder(), storage_of(16), lambda *_done: None, lambda: True)
