"""Decoders whose decode steps are captured by a fake, and the same kernel by kernel."""

from collections.abc import Sequence

import torch

from engine.kv.storage import PagedStorage
from engine.model.captured.device import GraphDevice
from engine.model.captured.rows import DecoderShape, GatheredKind, Places, RowsKind
from engine.model.captured.steps import CapturedSteps, MakeRows
from engine.model.native import NativeDecoder


def gathered(storage: PagedStorage, shape: DecoderShape) -> RowsKind:
    """The way in plain torch."""
    return GatheredKind(Places.of(storage), shape)


def capture(
    decoder: NativeDecoder, device: GraphDevice, ways: Sequence[MakeRows] = (gathered,)
) -> CapturedSteps:
    """Let ``decoder`` capture its decode steps on ``device``."""
    for layer in decoder._layers:
        for norm in (layer.attention_norm, layer.ffn_norm):
            if norm is not None:
                norm._plain = False
    decoder._norm._plain = False  # what the CPU does for one row reads a value
    steps = CapturedSteps(device, ways)
    decoder.capture_with(steps)
    return steps


def greedy(logits: torch.Tensor) -> list[int]:
    """The likeliest tokens."""
    return [int(token) for token in logits.argmax(-1).tolist()]
