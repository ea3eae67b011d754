"""Where Triton's kernels can run: on a card, or in its interpreter."""

import os
from importlib.util import find_spec

import torch


def is_interpreted() -> bool:
    """Whether this process was started for the interpreter."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def can_run_kernels() -> bool:
    """Whether kernels run in this process."""
    return find_spec("triton") is not None and (is_interpreted() or torch.cuda.is_available())


def kernel_device() -> torch.device:
    """What their tensors lie on."""
    return torch.device("cpu" if is_interpreted() else "cuda")
