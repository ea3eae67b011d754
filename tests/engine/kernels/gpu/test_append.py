"""What the kernel keeps, read by the storage's own reader, against what the storage keeps."""

import pytest
import torch

from engine.config import KVFormat
from engine.kernels.gpu.append import append
from engine.model.captured.kernel_rows import layer_cache
from tests.helpers.paged_texts import LAYER, write_texts
from tests.helpers.triton_device import is_interpreted, kernel_device

DEVICE = kernel_device()
# The interpreter cuts bfloat16 where a card rounds.
ULP = {KVFormat.BFLOAT16: 2.0**-7 if is_interpreted() else 2.0**-8}


@pytest.mark.parametrize(
    ("kept", "head_dim", "kv_heads", "block_size"),
    [
        (KVFormat.FLOAT32, 80, 2, 16),
        (KVFormat.FLOAT16, 32, 3, 5),
        (KVFormat.BFLOAT16, 64, 1, 16),
        (KVFormat.INT8, 64, 2, 16),
        (KVFormat.INT8, 80, 1, 5),
        (KVFormat.INT8, 256, 1, 16),
        (KVFormat.INT4, 64, 2, 16),
        (KVFormat.INT4, 80, 1, 5),
        (KVFormat.INT4, 24, 2, 6),
    ],
)
def test_keeps_what_the_storage_keeps(
    kept: KVFormat, head_dim: int, kv_heads: int, block_size: int
) -> None:
    lengths = (7, 33, 2)
    ours = write_texts(kept, (kv_heads, head_dim), block_size, lengths, DEVICE)
    cache = layer_cache(ours.storage, LAYER, torch.float32)
    # the last row fills the batch up; it has a text of its own, which nobody reads
    rows = torch.randn(4, 3 + 2 * kv_heads, head_dim, device=DEVICE)[:, 3:]
    slots = torch.stack([ours.slots(0)[-1], ours.slots(1)[-1], ours.slots(2)[-1]])
    before = [_read(ours.storage, ours.blocks[i], lengths[i]) for i in range(3)]
    sources = torch.tensor([0, 1, 2, 0], device=DEVICE)
    append(cache, rows, torch.cat((slots, slots[:1])), sources)
    found = [_read(ours.storage, ours.blocks[i], lengths[i]) for i in range(3)]
    ours.storage.append(LAYER, slots, rows[:3])
    expected = [_read(ours.storage, ours.blocks[i], lengths[i]) for i in range(3)]
    for one, other, old in zip(found, expected, before, strict=True):
        # the tokens before are untouched
        assert torch.equal(one[..., :-1, :], old[..., :-1, :])
        assert not torch.equal(one[..., -1, :], old[..., -1, :])
        if kept.is_quantised:
            # codes that lie between two are rounded either way
            assert (one - other).norm() <= 5e-3 * other.norm()
        else:
            torch.testing.assert_close(one, other, rtol=ULP.get(kept, 0.0), atol=0.0)


def test_a_vector_of_zeros_is_kept_as_zeros() -> None:
    for kept in (KVFormat.INT8, KVFormat.INT4):
        texts = write_texts(kept, (1, 32), 16, (3,), DEVICE)
        texts.storage.centres.zero_()
        zeros = torch.zeros(1, 2, 32, device=DEVICE)
        slots = texts.slots(0)[1:2]
        append(layer_cache(texts.storage, LAYER, torch.float32), zeros, slots, slots * 0)
        assert not _read(texts.storage, texts.blocks[0], 3)[..., 1, :].any()


def _read(storage, blocks, length) -> torch.Tensor:
    """K and V as they were appended, float32 [2, kv_heads, length, head_dim]."""
    return torch.stack(storage.reader(blocks, length, torch.float32).read(LAYER)).clone()
