"""One block's contents as a whole: to another block, to bytes, and back.

Works on any storage that names the tensors of a block; knows nothing of tables or files.
"""

from typing import Protocol

import torch


class BlockStorage(Protocol):
    """What a storage must offer; ``engine.kv.storage.PagedStorage`` is one."""

    def block_tensors(self, block: int) -> tuple[torch.Tensor, ...]:
        """Views of everything one block holds, in a fixed order and with fixed shapes."""
        ...


def copy_block(storage: BlockStorage, source: int, target: int) -> None:
    """Make ``target`` hold what ``source`` holds."""
    pairs = zip(storage.block_tensors(source), storage.block_tensors(target), strict=True)
    for old, new in pairs:
        new.copy_(old)


def block_bytes(storage: BlockStorage, block: int) -> bytes:
    """Everything the block holds, the tensors one after the other, each in its own layout."""
    return b"".join(
        tensor.contiguous().cpu().view(torch.uint8).numpy().tobytes()
        for tensor in storage.block_tensors(block)
    )


def block_nbytes(storage: BlockStorage) -> int:
    """Length of what ``block_bytes`` returns."""
    return sum(t.numel() * t.element_size() for t in storage.block_tensors(0))


def fill_block(storage: BlockStorage, block: int, data: bytes) -> None:
    """Put back what ``block_bytes`` returned. Raises ValueError when the length differs."""
    if len(data) != block_nbytes(storage):
        raise ValueError(f"a block has {block_nbytes(storage)} bytes, not {len(data)}")
    flat = torch.frombuffer(bytearray(data), dtype=torch.uint8)
    start = 0
    for tensor in storage.block_tensors(block):
        end = start + tensor.numel() * tensor.element_size()
        tensor.copy_(flat[start:end].clone().view(tensor.dtype).view(tensor.shape))
        start = end
