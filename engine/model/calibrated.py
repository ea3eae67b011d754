"""Calibrated INT4 weights of a checkpoint: from the cache, or made now and kept.

Joins the pass over a text (``engine.model.calibration``) to the cache of quantised weights.
"""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import torch

from engine.api import LoadStage, Precision
from engine.model.calibration import CalibratedLayers, calibration_texts, cut_prompts
from engine.model.native import NativeDecoder
from engine.model.source import Checkpoint
from engine.model.weight_cache import int4_source, is_kept
from engine.text.tokenizer import Tokenizer

_VERSION = "int4 32 calibrated v2"  # changes whenever the results do


def is_calibrated(path: Path) -> bool:
    """Whether calibrated weights of the model at ``path`` are kept on disk. Reads its header."""
    return is_kept(path, _version())


class Steps(Protocol):
    """A load in progress."""

    @property
    def is_cancelled(self) -> Callable[[], bool]:
        """Whether it is no longer wanted."""
        ...

    def check(self) -> None:
        """Raise LoadCancelledError if it is no longer wanted."""
        ...

    def report(self, stage: LoadStage, done: int, total: int) -> None:
        """Tell how far it is, and check."""
        ...


def build_calibrated(
    source: Checkpoint, path: Path, dtype: torch.dtype, tokenizer: Tokenizer, steps: Steps
) -> NativeDecoder:
    """Build a decoder on the CPU from wider weights, in calibrated 4 bits.

    Reports CALIBRATION while they are made, or WEIGHTS where they were kept; they are kept if all
    ends well. Raises LoadCancelledError at once, whatever it is doing.
    """
    size = source.file_bytes

    def report(done: int, total: int) -> None:
        steps.report(LoadStage.CALIBRATION, done, total)

    def check() -> None:
        steps.check()
        if int4.is_cached:
            steps.report(LoadStage.WEIGHTS, int(int4.share_done * size), size)

    prompts = [tokenizer.encode_prompt(text) for text in calibration_texts()]
    longest = source.config.max_position_embeddings
    layers = CalibratedLayers(source, cut_prompts(prompts, longest), report, steps.check)
    with int4_source(source, path, check, layers.take, _version()) as int4:
        return NativeDecoder.build(
            int4, Precision.INT4, dtype, torch.device("cpu"), _ignore_part, steps.is_cancelled
        )


def _ignore_part(_done: int, _total: int) -> None:
    """Products are counted, which are more."""


def _version() -> str:
    texts = "\0".join(calibration_texts())
    return f"{_VERSION} {hashlib.sha256(texts.encode()).hexdigest()}"
