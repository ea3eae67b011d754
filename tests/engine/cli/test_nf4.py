"""A model with rounded layers: everything else as it was."""

import pytest
import torch

from engine.api import Device, ModelOptions, Precision
from engine.cli.nf4 import rounded_to_nf4
from engine.errors import LoadCancelledError
from engine.model.batch import ForwardBatch, Segment
from engine.model.loader import LoadedModel, load_model
from tests.helpers.tiny_models import write_tiny_model


@pytest.fixture
def model(tmp_path):
    before = torch.get_num_threads()
    path = str(write_tiny_model(tmp_path / "tiny.gguf"))
    options = ModelOptions(path, weights=Precision.FP32, device=Device.CPU, threads=1)
    yield load_model(options, [].append, bool)
    torch.set_num_threads(before)


def logits(model: LoadedModel) -> torch.Tensor:
    ids = torch.tensor([5, 9, 30, 77, 100])
    rows = torch.arange(5)
    batch = ForwardBatch(ids, rows, rows, (Segment(0, 5, 0, (0,)),), rows)
    return model.decoder.forward(batch, model.storage, bool)


def test_rounded_layers_are_close(model):
    exact = logits(model)
    rounded, num_bytes = rounded_to_nf4(model, bool)
    found = logits(rounded)
    assert 0.01 < (found - exact).norm() / exact.norm() < 0.3
    assert num_bytes < model.info.weights_bytes / 3


def test_it_can_be_stopped(model):
    with pytest.raises(LoadCancelledError):
        rounded_to_nf4(model, lambda: True)
