"""A model's sheet, read by its header alone."""

import json

import pytest
import torch

from engine.api import Device, Fit, KVPrecision, ModelOptions, Precision
from engine.devices import physical_cores
from engine.errors import (
    InvalidRequestError,
    ModelCorruptError,
    ModelMissingError,
    ModelUnsupportedError,
)
from engine.inspection import (
    PRECISIONS,
    estimate_fit,
    foresee,
    inspect_model,
    known_ceilings,
)
from engine.planner.plan import plan
from engine.planner.wish import Wish
from engine.roofline.ceilings import Ceilings, cache_path, path_for, write_ceilings
from tests.helpers.gguf_files import STRING, llama_metadata, llama_parameters, write_llama
from tests.helpers.hf_folders import write_json, write_weights

CONFIG = {
    "model_type": "llama",
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 256,
    "tie_word_embeddings": True,
}


def folder_tensors(dtype):
    shapes = {"model.embed_tokens": (128, 64), "model.norm": (64,)}
    for i in range(2):
        at = f"model.layers.{i}."
        shapes |= {f"{at}input_layernorm": (64,), f"{at}post_attention_layernorm": (64,)}
        for part, rows in {"q": 64, "k": 32, "v": 32, "o": 64}.items():
            shapes[f"{at}self_attn.{part}_proj"] = (rows, 64)
        shapes |= {f"{at}mlp.{p}_proj": (96, 64) for p in ("gate", "up")}
        shapes[f"{at}mlp.down_proj"] = (64, 96)
    return {f"{name}.weight": torch.zeros(shape, dtype=dtype) for name, shape in shapes.items()}


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "模型 tiny"
    place.mkdir()
    write_json(place / "config.json", CONFIG)
    write_weights(place, folder_tensors(torch.bfloat16), num_shards=2)
    return place


def test_a_gguf_file(tmp_path):
    metadata = llama_metadata(tokenizer__chat_template=(STRING, "{{ messages }}"))
    path = write_llama(tmp_path / "tiny.gguf", llama_parameters(), metadata, four_bit=True)
    sheet = inspect_model(str(path))
    assert (sheet.name, sheet.architecture, sheet.stored) == ("Tiny", "llama", "Q4_1")
    assert (sheet.num_layers, sheet.num_heads, sheet.num_kv_heads) == (2, 4, 2)
    assert (sheet.vocab_size, sheet.hidden_size, sheet.context_length) == (128, 64, 256)
    assert sheet.num_parameters == sum(p.numel() for p in llama_parameters().values())
    assert sheet.has_chat_template
    assert sheet.license == "apache-2.0"
    assert sheet.default is Precision.INT4
    assert [line.precision for line in sheet.fits] == list(PRECISIONS)
    assert sheet.default_fit.largest_context == 256


def test_a_folder(folder):
    sheet = inspect_model(str(folder))
    assert (sheet.name, sheet.stored, sheet.license) == ("模型 tiny", "BF16", "")
    assert sheet.default is Precision.INT8
    assert not sheet.has_chat_template
    write_json(folder / "tokenizer_config.json", {"chat_template": "{{ messages }}"})
    (folder / "README.md").write_text("---\ntags: x\nlicense: apache-2.0\n---\nlicense: none\n")
    sheet = inspect_model(str(folder))
    assert sheet.has_chat_template
    assert sheet.license == "apache-2.0"


def test_the_model_to_be_replaced_gives_room(tmp_path):
    path = write_llama(tmp_path / "tiny.gguf", llama_parameters())
    sheet = inspect_model(str(path), bytes_to_free=1 << 50)
    assert {line.fit for line in sheet.fits} == {Fit.FITS}


def test_the_verdict_is_the_planners(tmp_path, monkeypatch):
    path = write_llama(tmp_path / "tiny.gguf", llama_parameters())
    asked = []

    def note(blueprint, wish, machine, ceilings):
        asked.append(wish)
        return plan(blueprint, wish, machine, ceilings)

    monkeypatch.setattr("engine.inspection.plan", note)
    inspect_model(str(path))
    assert asked == [Wish(precision) for precision in PRECISIONS]


def test_what_is_not_there(tmp_path):
    with pytest.raises(ModelMissingError):
        inspect_model(str(tmp_path / "none.gguf"))


@pytest.mark.parametrize("content", [b"", b"GGUF", b"x" * 100, b"GGUF" + b"\xff" * 100])
def test_a_damaged_file_says_why(tmp_path, content):
    path = tmp_path / "bad.gguf"
    path.write_bytes(content)
    with pytest.raises((ModelCorruptError, ModelMissingError, ModelUnsupportedError)):
        inspect_model(str(path))


def test_a_missing_shard(folder):
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelMissingError):
        inspect_model(str(folder))


@pytest.mark.parametrize("value", [None, "x", -1, 0, 10**30, [], {}])
def test_an_absurd_configuration(folder, value):
    for key in CONFIG:
        (folder / "config.json").write_text(json.dumps(CONFIG | {key: value}))
        try:
            inspect_model(str(folder))
        except (ModelCorruptError, ModelMissingError, ModelUnsupportedError):
            continue


def test_an_estimate_from_the_size_alone():
    line = estimate_fit(1_000_000, Precision.INT4, bytes_to_free=1 << 50)
    assert line.fit is Fit.FITS
    assert line.num_bytes > 500_000
    assert estimate_fit(10**16, Precision.INT4).fit is Fit.TOO_LARGE


@pytest.fixture
def _unmeasured(tmp_path, monkeypatch):
    monkeypatch.setenv("TOKENTIDE_HOME", str(tmp_path / "home"))


@pytest.mark.usefixtures("_unmeasured")
def test_foresight_goes_by_the_options(tmp_path):
    path = str(write_llama(tmp_path / "tiny.gguf", llama_parameters()))
    short = ModelOptions(path, Precision.INT8, Device.CPU, context_length=64)
    seen = foresee(short, bytes_to_free=1 << 50)
    assert (seen.precision, seen.fit, seen.cpu_layers) == (Precision.INT8, Fit.FITS, 0)
    assert 0 < seen.needed_bytes < seen.available_bytes
    assert seen.largest_context == 256
    assert seen.decode_tokens_per_s is None
    assert seen.reasons
    long = foresee(ModelOptions(path, Precision.INT8, Device.CPU, context_length=256))
    assert long.needed_bytes > seen.needed_bytes
    wide = foresee(ModelOptions(path, Precision.FP32, Device.CPU, kv=KVPrecision.INT8))
    assert wide.precision is Precision.FP32


@pytest.mark.usefixtures("_unmeasured")
def test_foresight_of_what_cannot_be_loaded(tmp_path):
    path = str(write_llama(tmp_path / "tiny.gguf", llama_parameters()))
    with pytest.raises(InvalidRequestError):
        foresee(ModelOptions(path, context_length=0))
    with pytest.raises(ModelMissingError):
        foresee(ModelOptions(str(tmp_path / "none.gguf")))


def make_ceilings(threads: int) -> Ceilings:
    return Ceilings(
        "cpu", threads, 1e10, *([1e-5] * 3), 1e11, 9e9, 1e11, 2e11, 4e11, 3e11, *([1e10] * 4)
    )


def test_ceilings_that_were_measured():
    assert known_ceilings() is None
    write_ceilings(make_ceilings(2), cache_path())
    found = known_ceilings()
    assert (found.device, found.threads) == ("cpu", 2)
    assert (found.read_bytes_per_s, found.cache_bytes_per_s) == (1e10, 9e9)
    assert found.flops_per_s[Precision.INT8] == 4e11
    assert found.measured_at == cache_path().stat().st_mtime
    assert known_ceilings(is_cuda=True) is None


def test_ceilings_of_as_many_threads_as_a_model_has():
    many = 1 + physical_cores()
    write_ceilings(make_ceilings(many), path_for(many))
    assert known_ceilings(many).threads == many
    assert known_ceilings() is None
