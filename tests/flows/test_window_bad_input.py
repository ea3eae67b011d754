"""Models that cannot be used, chosen in the real window: one sentence each, and the loaded model
stays and answers.
"""

import json
import os
import struct
import sys

import pytest
import safetensors.torch
import torch

from engine.model.hf_config import read_hf_config
from engine.service import EngineService
from tests.helpers.desk import Desk
from tests.helpers.gguf_files import gguf_bytes, llama_metadata, llama_parameters, write_llama
from tests.helpers.hf_folders import write_json, write_tokenizer, write_weights
from tests.helpers.state_dict_source import random_state_dict
from tests.helpers.tiny_tokenizers import byte_level_metadata
from ui.chat.rows import MessageStatus
from ui.widgets.model_pill import PillStatus

pytestmark = pytest.mark.flow
LOAD_MS = 120_000
CONFIG = {
    "model_type": "llama",
    "vocab_size": 128,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10_000.0,
    "max_position_embeddings": 256,
    "tie_word_embeddings": False,
    "eos_token_id": 2,
    "bos_token_id": 1,
}
LOOPING = "{% for i in range(100000) %}{% for j in range(100000) %}x{% endfor %}{% endfor %}"


def with_tokenizer(**changes):
    """Metadata of a tiny Llama that can be loaded, but for the changes."""
    words = byte_level_metadata()
    items = words["tokenizer.ggml.tokens"]
    metadata = llama_metadata(llama__vocab_size=(4, len(items)))
    metadata |= {
        "tokenizer.ggml.model": (8, words["tokenizer.ggml.model"]),
        "tokenizer.ggml.pre": (8, words["tokenizer.ggml.pre"]),
        "tokenizer.ggml.tokens": (9, (8, items)),
        "tokenizer.ggml.token_type": (9, (5, words["tokenizer.ggml.token_type"])),
        "tokenizer.ggml.merges": (9, (8, words["tokenizer.ggml.merges"])),
        "tokenizer.chat_template": (8, "{{ messages[-1].content }}"),
    }
    return metadata | changes, len(items)


def tiny_gguf(path, parameters=None, **changes):
    metadata, vocab_size = with_tokenizer(**changes)
    values = dict(llama_parameters() if parameters is None else parameters)
    values["token_embd.weight"] = torch.randn(vocab_size, 64) * 0.2
    return write_llama(path, values, metadata)


def folder_of(path, tensors=None, num_shards=1):
    path.mkdir()
    write_json(path / "config.json", CONFIG)
    held = random_state_dict(read_hf_config(path)) if tensors is None else tensors
    write_weights(path, held, num_shards)
    return path


# ---------------------------------------------------------------------- what is chosen


def truncated(place, starter):
    path = place / "truncated.gguf"
    with starter.open("rb") as whole:
        path.write_bytes(whole.read(40_000_000))
    return path


def absurd_counts(place, _starter):
    path = place / "absurd.gguf"
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1 << 62) + bytes(64))
    return path


def missing_shard(place, _starter):
    folder = folder_of(place / "half a model", num_shards=2)
    (folder / "model-00002-of-00002.safetensors").unlink()
    return folder


def missing_split(place, _starter):
    path = place / "big-00001-of-00003.gguf"
    write_llama(path, llama_parameters())
    return path


def wrong_shape(place, _starter):
    folder = folder_of(place / "wrong shape")
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    tensors["model.layers.0.self_attn.q_proj.weight"] = torch.zeros(48, 64)
    write_weights(folder, tensors)
    return folder


def unknown_type(place, _starter):
    path = place / "unknown type.gguf"
    path.write_bytes(gguf_bytes(llama_metadata(), [("token_embd.weight", (64, 128), 99, b"x")]))
    return path


def unknown_architecture(place, _starter):
    path = place / "warp9.gguf"
    metadata = llama_metadata(general__architecture=(8, "warp9"))
    path.write_bytes(gguf_bytes(metadata, []))
    return path


def mismatched_tokenizer(place, starter):
    folder = folder_of(place / "tokenizer of another")
    write_tokenizer(folder, starter)
    return folder


def nan_weights(place, _starter):
    parameters = llama_parameters()
    parameters["blk.1.ffn_up.weight"][3, 5] = float("nan")
    return tiny_gguf(place / "nan.gguf", parameters)


def broken_template(place, _starter):
    return tiny_gguf(place / "template.gguf", **{"tokenizer.chat_template": (8, "{% if %}")})


def pickled(place, _starter):
    path = place / "pytorch_model.bin"
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    return path


def no_model(place, _starter):
    path = place / "holiday.jpg"
    path.write_bytes(b"\xff\xd8\xff\xe0" + bytes(100))
    return path


def empty_file(place, _starter):
    path = place / "empty.gguf"
    path.write_bytes(b"")
    return path


def empty_folder(place, _starter):
    folder = place / "empty folder"
    folder.mkdir()
    return folder


def gone(place, _starter):
    return place / "unplugged" / "model.gguf"


def broken_config(place, _starter):
    folder = place / "broken config"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "llama", "hidden_size": [')
    return folder


def absurd_config(place, _starter):
    folder = folder_of(place / "absurd config")
    values = {**CONFIG, "num_hidden_layers": 10**9, "hidden_size": 10**12}
    (folder / "config.json").write_text(json.dumps(values))
    return folder


def locked_folder(place, _starter):
    folder = folder_of(place / "locked")
    folder.chmod(0)
    return folder


BAD = [
    (truncated, "truncated.gguf is damaged or incomplete"),
    (absurd_counts, "absurd.gguf is damaged or incomplete"),
    (missing_shard, "model-00002-of-00002.safetensors"),
    (missing_split, "in 3 files and big-00002-of-00003.gguf is missing"),
    (wrong_shape, "wrong shape"),
    (unknown_type, "unknown type.gguf"),
    (unknown_architecture, "warp9"),
    (mismatched_tokenizer, "token"),
    (nan_weights, "nan.gguf"),
    (broken_template, "template"),
    (pickled, "pickled weights"),
    (no_model, "holiday.jpg"),
    (empty_file, "empty.gguf"),
    (empty_folder, "empty folder"),
    (gone, "model.gguf"),
    (broken_config, "config.json"),
    (absurd_config, "absurd config"),
    (locked_folder, "locked"),
]


@pytest.fixture
def desk(qtbot, isolated_home, starter_model):
    desk = Desk(
        qtbot, isolated_home, is_immediate=False, has_model=False, make_engine=EngineService
    )
    settings = desk.application.services.settings
    for key, value in {
        "model_path": str(starter_model),
        "temperature": 0.0,
        "max_tokens": 3,
    }.items():
        settings.set(key, value)
    desk.application.start()
    desk.wait(lambda: desk.is_open)
    desk.wait(lambda: desk.application.controllers.model.info is not None, LOAD_MS)
    yield desk
    desk.close()


def wait_for_load(desk):
    desk.wait(lambda: not desk.application.controllers.model.is_loading, LOAD_MS)


def answer(desk, text):
    num_rows = len(desk.rows)
    desk.send(text)
    desk.wait(lambda: len(desk.rows) == num_rows + 2)
    desk.wait(lambda: desk.rows[-1].status is not MessageStatus.STREAMING, LOAD_MS)
    return desk.rows[-1]


def test_each_is_one_sentence_and_the_loaded_model_goes_on(desk, starter_model, tmp_path):
    model = desk.application.controllers.model
    assert model.info.path == str(starter_model)
    place = tmp_path / "модели 模型"
    place.mkdir()
    complaints = []
    for make, words in BAD:
        if make is locked_folder and (sys.platform == "win32" or os.geteuid() == 0):
            continue  # rights do not bind here
        desk.notices.clear()
        path = make(place, starter_model)
        desk.window.model_file_chosen.emit(str(path))
        wait_for_load(desk)
        told = list(desk.notices)
        is_sentence = len(told) == 1 and told[0].endswith(".") and "\n" not in told[0]
        if not is_sentence or words not in told[0] or len(told[0]) > 260:
            complaints.append((make.__name__, told))
        if model.info is None or model.info.path != str(starter_model):
            complaints.append((make.__name__, "the loaded model went away"))
            desk.window.model_file_chosen.emit(str(starter_model))
            wait_for_load(desk)
    assert complaints == []
    assert desk.window._top.pill.state.status is PillStatus.READY
    row = answer(desk, "Say hello.")
    assert row.status is MessageStatus.COMPLETE
    assert row.text


def test_a_template_without_end_costs_the_answer_and_no_more(desk, starter_model, tmp_path):
    path = tiny_gguf(tmp_path / "loop.gguf", **{"tokenizer.chat_template": (8, LOOPING)})
    desk.window.model_file_chosen.emit(str(path))
    wait_for_load(desk)
    assert desk.notices == []
    row = answer(desk, "Say hello.")
    assert row.status is MessageStatus.FAILED
    assert "template" in row.failure
    assert desk.rows[0].text == "Say hello."
    desk.window.model_file_chosen.emit(str(starter_model))
    wait_for_load(desk)
    assert answer(desk, "And now?").status is MessageStatus.COMPLETE
