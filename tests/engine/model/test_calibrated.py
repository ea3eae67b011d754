"""Loading with calibrated weights: made once, kept, ignored where they gain nothing."""

import itertools

import pytest
import torch

from engine.api import Device, LoadProgress, LoadStage, ModelOptions, Precision
from engine.errors import LoadCancelledError
from engine.model.batch import ForwardBatch, Segment
from engine.model.calibrated import is_calibrated
from engine.model.loader import LoadedModel, load_model
from engine.model.weight_cache import cache_folder
from tests.helpers.tiny_models import write_tiny_model


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(autouse=True)
def texts(monkeypatch):
    """A short text, since the tiny model has one token a letter."""
    monkeypatch.setattr(
        "engine.model.calibrated.calibration_texts", lambda: ["TheQuickBrownFox" * 12, "Jumps" * 9]
    )


@pytest.fixture
def tiny(tmp_path):
    return write_tiny_model(tmp_path / "tiny.gguf")


def load(path, *, calibrated=True, weights=Precision.INT4, is_cancelled=bool, **options):
    seen: list[LoadProgress] = []
    wanted = ModelOptions(
        str(path), weights=weights, calibrated=calibrated, device=Device.CPU, threads=1, **options
    )
    return load_model(wanted, seen.append, is_cancelled), seen


def logits(model: LoadedModel) -> torch.Tensor:
    ids = torch.tensor([5, 9, 30, 77, 100])
    rows = torch.arange(5)
    batch = ForwardBatch(ids, rows, rows, (Segment(0, 5, 0, (0,)),), rows)
    return model.decoder.forward(batch, model.storage, bool)


def stages(seen: list[LoadProgress]) -> list[LoadStage]:
    return [stage for stage, _ in itertools.groupby(progress.stage for progress in seen)]


def kept() -> list[str]:
    return sorted(path.name for path in cache_folder().glob("*"))


def test_made_once_and_read_afterwards(tiny):
    assert not is_calibrated(tiny)
    first, seen = load(tiny)
    assert stages(seen)[2:] == [LoadStage.CALIBRATION, LoadStage.KV_CACHE, LoadStage.WARM_UP]
    done = [(p.done, p.total) for p in seen if p.stage is LoadStage.CALIBRATION]
    assert done == sorted(done)
    assert done[-1] == (8, 8)
    assert first.info.is_calibrated
    assert first.info.precision is Precision.INT4
    assert is_calibrated(tiny)
    second, seen = load(tiny)
    assert stages(seen)[2:] == [LoadStage.WEIGHTS, LoadStage.KV_CACHE, LoadStage.WARM_UP]
    assert second.info.is_calibrated
    assert torch.equal(logits(first), logits(second))
    assert first.info.weights_bytes == second.info.weights_bytes


def test_plain_weights_are_another_entry(tiny):
    calibrated, _ = load(tiny)
    (entry,) = kept()
    plain, _ = load(tiny, calibrated=False)
    assert not plain.info.is_calibrated
    assert len(kept()) == 2
    assert entry in kept()
    assert plain.info.weights_bytes == calibrated.info.weights_bytes
    assert plain.info.kernels == calibrated.info.kernels
    assert not torch.equal(logits(plain), logits(calibrated))


def test_another_text_is_another_entry(tiny, monkeypatch):
    load(tiny)
    monkeypatch.setattr("engine.model.calibrated.calibration_texts", lambda: ["OtherWords" * 9])
    assert not is_calibrated(tiny)


@pytest.mark.parametrize("weights", [Precision.INT8, Precision.FP32, Precision.AUTO])
def test_other_precisions_ignore_it(tiny, weights):
    model, seen = load(tiny, weights=weights)
    assert not model.info.is_calibrated
    assert LoadStage.CALIBRATION not in stages(seen)
    assert kept() == []


def test_a_file_of_four_bits_gains_nothing(starter_model):
    model, seen = load(starter_model, context_length=64)
    assert not model.info.is_calibrated
    assert LoadStage.CALIBRATION not in stages(seen)
    assert kept() == []


def test_cancelling_at_any_moment_leaves_nothing_behind(tiny):
    questions = itertools.count()
    load(tiny, is_cancelled=lambda: next(questions) < 0)
    total = next(questions)
    for file in cache_folder().glob("*"):
        file.unlink()
    for last in range(0, total - 6, max(1, total // 12)):
        asked = itertools.count()

        def is_cancelled(last=last, asked=asked) -> bool:
            return next(asked) >= last

        with pytest.raises(LoadCancelledError):
            load(tiny, is_cancelled=is_cancelled)
        assert kept() == []
        assert next(asked) == last + 1  # at once: nobody asks twice


def test_damaged_values_are_made_anew(tiny):
    first, _ = load(tiny)
    (file,) = cache_folder().glob("*")
    raw = bytearray(file.read_bytes())
    for at in range(len(raw) // 2, len(raw), 997):
        raw[at] ^= 0x55
    file.write_bytes(raw)
    again, _ = load(tiny)
    assert again.info.is_calibrated
    assert torch.equal(logits(first), logits(again))
