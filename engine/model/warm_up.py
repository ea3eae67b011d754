"""A freshly loaded model's first passes, so that no request pays for torch's first calls."""

from collections.abc import Callable

import torch

from engine.kv.storage import PagedStorage
from engine.model.batch import Decoder, ForwardBatch, Segment

_TOKENS = (16, 1)  # a little prefill, then a decode step


@torch.inference_mode()
def warm_up(
    decoder: Decoder,
    storage: PagedStorage,
    report: Callable[[int, int], None],
    is_cancelled: Callable[[], bool],
) -> None:
    """Run small batches; ``report(done, total)`` counts them, and may raise to stop.

    Writes to the first block, which belongs to nobody yet.
    """
    device, num_windows = storage.device, len(storage.parts) - 1
    report(0, len(_TOKENS))
    for done, wanted in enumerate(_TOKENS, start=1):
        length = min(wanted, storage.geometry.block_size)
        rows = torch.arange(length, device=device)
        batch = ForwardBatch(
            token_ids=torch.zeros(length, dtype=torch.int64, device=device),
            positions=rows,
            slots=rows,
            segments=(Segment(0, length, 0, (0,), ((0,),) * num_windows),),
            logit_rows=rows[-1:],
            window_slots=(rows,) * num_windows,
        )
        decoder.forward(batch, storage, is_cancelled)
        report(done, len(_TOKENS))
