"""An INT4 cache is balanced for the keys of its model, and scores stay what they were."""

from dataclasses import replace

import pytest
import torch

from engine.api import KVPrecision, ModelOptions
from engine.config import KVFormat
from engine.kv.grouped import make_storage
from engine.kv.quantized import QuantizedStorage
from engine.model.balance import _Sums, balance_keys
from engine.model.batch import ForwardInterruptedError
from engine.model.loader import load_model
from tests.helpers.tiny_models import write_tiny_model

CPU = torch.device("cpu")


def load(path, kv, **options):
    wanted = ModelOptions(str(path), kv=kv, context_length=64, **options)
    return load_model(wanted, lambda _progress: None, lambda: False)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return load(write_tiny_model(tmp_path_factory.mktemp("m") / "tiny.gguf"), KVPrecision.INT4)


def quantised(model):
    found = [part for part in model.storage.parts if isinstance(part, QuantizedStorage)]
    assert found
    return found


# ---------------------------------------------------------------------- what is measured
def test_factors_and_centres_follow_queries_and_keys():
    draw = torch.Generator().manual_seed(1)
    keys = torch.randn(4_000, 2, 32, generator=draw)
    queries = torch.randn(4_000, 2, 3, 32, generator=draw)
    keys[:, :, 3] = keys[:, :, 3] * 0.1 + 9.0
    queries[..., 5] *= 4
    sums = _Sums()
    for some in (slice(0, 1_000), slice(1_000, None)):
        sums.add(queries[some], keys[some])
    factors, centres = sums.result()
    assert factors.shape == centres.shape == (2, 32)
    torch.testing.assert_close(centres[:, 3], torch.tensor([9.0, 9.0]), atol=0.05, rtol=0)
    assert float(centres[:, :3].abs().max()) < 0.1
    # a spread of a tenth, or queries four times as large
    torch.testing.assert_close(
        factors[:, 3] / factors[:, 0], torch.full((2,), 10**0.5), rtol=0.1, atol=0
    )
    torch.testing.assert_close(
        factors[:, 5] / factors[:, 0], torch.full((2,), 2.0), rtol=0.1, atol=0
    )


def test_channels_that_say_nothing_leave_finite_factors():
    sums = _Sums()
    sums.add(torch.zeros(16, 1, 2, 32), torch.full((16, 1, 32), 3.0))
    factors, centres = sums.result()
    assert factors.isfinite().all()
    assert (factors > 0).all()
    assert torch.equal(centres, torch.full((1, 32), 3.0))


# ---------------------------------------------------------------------- what is done with it
def test_a_loaded_model_has_its_keys_balanced(model):
    for part in quantised(model):
        assert part.centres.any()
        product = part.factors[:, 0] * part.factors[:, 1]
        torch.testing.assert_close(product, torch.ones_like(product))
        assert bool((part.factors[:, 1] != 1).any())
    assert model.rope is not None
    assert "keys balanced by" in model.rope


def test_the_same_again_after_another_load(model, tmp_path):
    other = load(write_tiny_model(tmp_path / "tiny.gguf"), KVPrecision.INT4)
    assert other.rope == model.rope
    for part, same in zip(quantised(other), quantised(model), strict=True):
        assert torch.equal(part.centres, same.centres)
        assert torch.equal(part.factors, same.factors)


@pytest.mark.parametrize("kept", [KVFormat.INT8, KVFormat.BFLOAT16])
def test_other_caches_are_left_as_they_are(model, kept):
    storage = make_storage(replace(model.storage.geometry, format=kept), CPU)
    assert balance_keys(model.decoder, storage, model.tokenizer, 64, lambda: False) == ""
    if isinstance(storage, QuantizedStorage):
        assert not storage.centres.any()


def test_it_can_be_stopped(model):
    storage = make_storage(model.storage.geometry, CPU)
    with pytest.raises(ForwardInterruptedError):
        balance_keys(model.decoder, storage, model.tokenizer, 64, lambda: True)


def test_a_short_context_is_enough(model):
    storage = make_storage(model.storage.geometry, CPU)
    assert balance_keys(model.decoder, storage, model.tokenizer, 5, lambda: False)
