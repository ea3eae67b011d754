"""Steps of random decoders: what they are made of, not how long they take."""

import torch

from engine.api import Precision
from engine.roofline.steps import Kind, measure_attention, measure_layers

CPU = torch.device("cpu")


class Counting:
    """A watch that runs each work once, and takes the first to be the quicker."""

    def __init__(self):
        self.calls = 0

    def best(self, works):
        works[0]()
        self.calls += 1
        return float(self.calls)


def test_layers_are_told_from_the_step_around_them():
    step, layer = measure_layers(Counting(), Kind(Precision.INT8, torch.float32, CPU))
    assert layer == (2 - 1) / (10 - 2)
    assert step == 1 - 2 * layer


def test_attention_is_what_a_longer_context_costs():
    kind = Kind(Precision.FP32, torch.float32, CPU)
    flops, rate = measure_attention(Counting(), kind, 16, 64)
    assert flops == 4 * 4 * 8 * 64 * 16 * 64
    assert rate == 4 * 2 * 4 * 64 * 4 * 64
