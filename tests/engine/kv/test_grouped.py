"""Layers with pools of their own: bit by bit what one pool for all of them gives."""

from dataclasses import replace

import pytest
import torch

from engine.api import Precision
from engine.config import KVFormat, KVGeometry, LayerGroup
from engine.kernels.library import open_core
from engine.kv.grouped import GroupedStorage, make_storage
from engine.kv.quantized import QuantizedStorage
from engine.kv.storage import PagedStorage
from engine.model.config import ModelConfig
from tests.helpers.decoding import CPU, build_native
from tests.helpers.state_dict_source import StateDictSource, random_state_dict
from tests.helpers.windowed import Served, one_kind, window_geometry

WINDOW, CHUNK = 40, 33
CONFIG = ModelConfig(
    model_type="gemma3_text",
    name="tiny",
    vocab_size=61,
    hidden_size=96,
    intermediate_size=160,
    num_layers=5,
    num_heads=6,
    num_kv_heads=2,
    head_dim=32,
    rms_norm_eps=1e-5,
    rope_theta=10_000.0,
    max_position_embeddings=512,
    sliding_window=WINDOW,
    sliding_layers=(True, True, False, True, False),
    local_rope_theta=500.0,
)
IDS = torch.randint(61, (210,), generator=torch.Generator().manual_seed(5)).tolist()
GROUPS = (LayerGroup((1,), 6), LayerGroup((0, 2), 4, 8, 4))
GEOMETRY = KVGeometry(3, 2, 8, 4, 6, KVFormat.FLOAT32, GROUPS)


def _geometry(config: ModelConfig, kept: KVFormat) -> KVGeometry:
    return window_geometry(
        config, num_blocks=40, window_blocks=12, block_size=16, chunk=CHUNK, kept=kept
    )


@pytest.mark.parametrize("kept", list(KVFormat))
@pytest.mark.parametrize("precision", [Precision.FP32, Precision.INT8])
def test_answers_are_those_of_one_pool(precision: Precision, kept: KVFormat) -> None:
    decoder = build_native(StateDictSource(CONFIG, random_state_dict(CONFIG)), precision)
    is_native = precision is Precision.INT8 and open_core() is not None
    assert (decoder._step is not None) == is_native
    ours = Served(decoder, _geometry(CONFIG, kept))
    plain = Served(decoder, one_kind(_geometry(CONFIG, kept), 40))
    lengths = (CHUNK, 3, 1, 1, 30, 1)
    for served in (ours, plain):
        served.open("a", IDS)
    logits = ours.finish("a", IDS, lengths)
    assert torch.equal(logits, plain.finish("a", IDS, lengths))
    assert [use.num_live for use in ours.kv.uses] == [14, 5]


def test_several_texts_share_a_step() -> None:
    decoder = build_native(StateDictSource(CONFIG, random_state_dict(CONFIG)), Precision.INT8)
    ours = Served(decoder, _geometry(CONFIG, KVFormat.INT8))
    plain = Served(decoder, one_kind(_geometry(CONFIG, KVFormat.INT8), 40))
    texts = {"a": IDS[:150], "b": IDS[60:130]}
    parts: list[list[torch.Tensor]] = [[], []]
    for served, logits in zip((ours, plain), parts, strict=True):
        served.open("a", texts["a"])
        served.read({"a": texts["a"]}, [CHUNK])
        served.open("b", texts["b"])
        for lengths in ((20, 13), (1, 30), (32, 1), (1, 1), (2, 3)):
            logits.extend(served.read(texts, lengths))
    assert all(torch.equal(one, other) for one, other in zip(*parts, strict=True))


def test_windows_alone() -> None:
    config = replace(CONFIG, sliding_layers=(True,) * 5)
    decoder = build_native(StateDictSource(config, random_state_dict(config)), Precision.INT8)
    ours = Served(decoder, _geometry(config, KVFormat.INT8))
    plain = Served(decoder, one_kind(_geometry(config, KVFormat.INT8), 40))
    for served in (ours, plain):
        served.open("a", IDS)
    assert torch.equal(*(s.finish("a", IDS, (CHUNK, 1, 1)) for s in (ours, plain)))
    assert ours.kv.num_live_blocks == 5


def test_each_group_has_its_own_pool() -> None:
    storage = make_storage(GEOMETRY, CPU)
    assert isinstance(storage, GroupedStorage)
    assert [part.geometry.num_layers for part in storage.parts] == [1, 2]
    assert [part.geometry.num_blocks for part in storage.parts] == [6, 4]
    assert storage.nbytes == GEOMETRY.total_bytes == (6 + 2 * 4) * 4 * 2 * 2 * 8 * 4
    slots = torch.tensor([5])
    rows = torch.randn(1, 4, 8)
    storage.append(2, slots, rows)
    keys, values = storage.layer_reader(1, (1,), 2, torch.float32).read(2)
    torch.testing.assert_close(torch.cat((keys[:, 1], values[:, 1])), rows[0])
    assert not storage.layer_reader(1, (1,), 2, torch.float32).read(0)[0].any()
    assert not storage.layer_reader(0, (1,), 2, torch.float32).read(1)[0].any()


def test_layers_of_one_kind_have_no_groups() -> None:
    plain = replace(GEOMETRY, groups=())
    storage = make_storage(plain, CPU)
    assert type(storage) is PagedStorage
    assert storage.parts == (storage,)
    quantised = make_storage(replace(plain, format=KVFormat.INT8), CPU)
    assert type(quantised) is QuantizedStorage
