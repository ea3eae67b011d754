"""Zeros that are not paid for, and memory that is used again."""

import psutil
import torch

from engine.kv.memory import Scratch, lazy_zeros

CPU = torch.device("cpu")


def test_zeros_cost_nothing_until_they_are_written():
    before = psutil.Process().memory_info().rss
    zeros = lazy_zeros((1 << 14, 1 << 14), torch.float32, CPU)
    assert psutil.Process().memory_info().rss - before < 1 << 28
    assert not zeros[5000].any()
    zeros[1, 2] = 3.0
    assert float(zeros[1].sum()) == 3.0


def test_scratch_is_used_again_and_grows():
    scratch = Scratch(CPU)
    first = scratch.take((4, 8), torch.float32)
    assert scratch.take((2, 8), torch.bfloat16).data_ptr() == first.data_ptr()
    assert scratch.take((100, 100), torch.float32).shape == (100, 100)
