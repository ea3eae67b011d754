"""Which models the core takes; that it computes them rightly: ../model/test_native_step.py."""

import ctypes
from dataclasses import replace

import pytest
import torch

from engine.config import KVFormat
from engine.kernels.decode_step import (
    DecodeStep,
    LayerParts,
    ModelParts,
    RotaryRows,
    StepBatch,
    StepCache,
    StepSegment,
)
from engine.kernels.matrix import pack_int8


def parts(core, hidden=64, intermediate=96):
    def matrix(n, k):
        return pack_int8(core, torch.zeros(n, k, dtype=torch.int8), torch.ones(n))

    layer = LayerParts(
        qkv=matrix(96, hidden),
        o=matrix(hidden, 32),
        gate_up=matrix(2 * intermediate, hidden),
        down=matrix(hidden, intermediate),
    )
    return ModelParts(
        layers=(layer,),
        norm=torch.ones(hidden),
        head=matrix(50, hidden),
        num_heads=1,
        num_kv_heads=1,
        head_dim=32,
        rotary_half=16,
        activation="silu",
        norm_eps=1e-5,
        attention_scale=1.0,
    )


def test_sizes_that_vectors_divide_are_supported(core):
    assert parts(core).is_supported


@pytest.mark.parametrize(
    "change",
    [
        {"head_dim": 48},
        {"head_dim": 1056},
        {"rotary_half": 8},
        {"activation": "relu"},
        {"num_heads": 129},
    ],
)
def test_other_sizes_are_not(core, change):
    assert not replace(parts(core), **change).is_supported


@pytest.mark.parametrize("block_size", [5, 16, 24, 64])
@pytest.mark.parametrize("kept", KVFormat)
def test_caches_that_are_read_in_place(kept, block_size):
    cache = StepCache(kept, torch.zeros(8), None, 0, block_size)
    assert cache.is_readable is (not kept.is_quantised or block_size % 16 == 0)
    assert not replace(cache, pool=torch.zeros(4, 4).T).is_readable
    assert not replace(cache, parameters=torch.zeros(4, 4).T).is_readable


def test_tables_of_the_same_tensors_are_the_same(core):
    step = DecodeStep(core, parts(core))
    cosines = torch.zeros(4, 16)
    cache = StepCache(KVFormat.FLOAT32, torch.zeros(1, 2, 16, 32), None, 16, 16)
    batch = StepBatch(
        embedded=torch.zeros(1, 64),
        positions=torch.zeros(1, dtype=torch.int64),
        slots=torch.zeros(1, dtype=torch.int64),
        logit_rows=torch.zeros(1, dtype=torch.int64),
        segments=[StepSegment(0, 1, 0, (0,))],
        rotations=[RotaryRows(cosines, cosines)],
    )
    step.run(batch, cache, 1, lambda: False)
    before = step._batch.rotations
    again = replace(batch, rotations=[RotaryRows(cosines, cosines)])
    step.run(again, cache, 1, lambda: False)
    assert ctypes.addressof(step._batch.rotations.contents) == ctypes.addressof(before.contents)
    grown = torch.zeros(9, 16)
    step.run(replace(batch, rotations=[RotaryRows(grown, grown)]), cache, 1, lambda: False)
    assert step._batch.rotations[0].cosines == grown.data_ptr()
