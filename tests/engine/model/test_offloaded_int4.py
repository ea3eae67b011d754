"""The CPU's layers of a split model: 4 bits as good as a whole model's, and kept on disk."""

from contextlib import closing

import pytest
import torch

from engine.errors import LoadCancelledError
from engine.model.gguf_source import GgufSource
from engine.model.offloaded_int4 import FirstLayers, int4_first_layers
from engine.model.weight_cache import cache_folder, int4_source
from engine.quant.layout import GroupedInt4Weight
from tests.helpers.gguf_files import llama_parameters, write_llama


@pytest.fixture
def path(tmp_path):
    return write_llama(tmp_path / "tiny.gguf", llama_parameters())


def read(path, count, check=bool):
    with closing(GgufSource.open(path)) as source:
        names = [n for n, shape in FirstLayers(source, count).shapes.items() if len(shape) == 2]
        with int4_first_layers(source, path, count, check) as int4:
            return {name: int4.weight(name).dequantize() for name in names}, int4.is_cached


def read_whole(path):
    with closing(GgufSource.open(path)) as source, int4_source(source, path, bool) as int4:
        names = [n for n, shape in source.shapes.items() if len(shape) == 2]
        return {name: int4.weight(name).dequantize() for name in names}


def test_only_the_first_layers_are_quantised_and_kept(path):
    weights, was_cached = read(path, 1)
    assert not was_cached
    assert {name.split(".")[1] for name in weights} == {"0"}
    (file,) = cache_folder().glob("*")
    again, is_cached = read(path, 1)
    assert is_cached
    assert list(cache_folder().glob("*")) == [file]
    assert all(torch.equal(again[name], values) for name, values in weights.items())


def test_what_was_kept_of_the_whole_model_serves_too(path):
    whole = read_whole(path)
    files = list(cache_folder().glob("*"))
    weights, is_cached = read(path, 1)
    assert is_cached
    assert list(cache_folder().glob("*")) == files
    assert all(torch.equal(whole[name], values) for name, values in weights.items())


def test_the_others_come_as_they_are(path):
    with (
        closing(GgufSource.open(path)) as source,
        int4_first_layers(source, path, 1, bool) as int4,
    ):
        assert isinstance(int4.weight("layers.0.q"), GroupedInt4Weight)
        assert not isinstance(int4.weight("layers.1.q"), GroupedInt4Weight)
        assert torch.equal(int4.vector("norm"), source.vector("norm"))


def test_a_load_that_was_stopped_keeps_nothing(path):
    def stop() -> None:
        raise LoadCancelledError("Loading was stopped.")

    with pytest.raises(LoadCancelledError):
        read(path, 1, stop)
    assert list(cache_folder().glob("*")) == []
