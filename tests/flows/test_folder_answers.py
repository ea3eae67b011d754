"""A model folder on disk answers as the GGUF file it was made from."""

import json

import pytest
import torch

from engine.__main__ import main
from engine.api import ModelOptions
from engine.errors import ModelCorruptError, ModelMissingError
from engine.model.loader import load_model, open_checkpoint
from tests.helpers.hf_folders import (
    dequantized,
    folder_config,
    starter_folder,
    write_json,
    write_tokenizer,
    write_weights,
)

pytestmark = pytest.mark.flow
PROMPT = "What is the capital of France?"


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def chat(capsys, model, weights="fp32") -> dict:
    arguments = [
        "--prompt",
        PROMPT,
        "--greedy",
        "--max-tokens",
        "12",
        "--json",
        "--context",
        "128",
    ]
    assert main(["chat", "--model", str(model), "--weights", weights, *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_folder_and_file_give_the_same_answer(tmp_path, starter_model, capsys):
    folder = starter_folder(tmp_path / "模型 folder", starter_model, torch.float32, num_shards=2)
    ours = chat(capsys, folder)
    assert ours["text"] == chat(capsys, starter_model)["text"]
    assert "Paris" in ours["text"]
    assert ours["prompt_tokens"] > 20  # the system prompt of the chat template is there


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_folders(tmp_path, starter_model, capsys, dtype):
    folder = starter_folder(tmp_path / "half", starter_model, dtype)
    words = ["--weights", "int8", "--greedy", "--max-tokens", "4", "--json", "--context", "64"]
    prompt = ["--raw", "--prompt", "The capital of France is"]
    assert main(["chat", "--model", str(folder), *words, *prompt]) == 0
    assert json.loads(capsys.readouterr().out)["text"].startswith(" Paris")


def test_a_missing_shard_is_one_sentence(tmp_path, starter_model):
    folder = starter_folder(tmp_path / "shards", starter_model, torch.bfloat16, num_shards=2)
    (folder / "model-00002-of-00002.safetensors").unlink()
    with pytest.raises(ModelMissingError, match="00002-of-00002") as caught:
        open_checkpoint(folder)
    assert str(caught.value).count(".") < 8


def test_a_foreign_tokenizer_is_refused(tmp_path, starter_model):
    source = open_checkpoint(starter_model)
    config = folder_config(source.config, vocab_size=1000, num_hidden_layers=1)
    source.close()
    tensors = dequantized(
        starter_model, torch.bfloat16, lambda n: not n.startswith("layers.") or "layers.0." in n
    )
    tensors["model.embed_tokens.weight"] = tensors["model.embed_tokens.weight"][:1000]
    write_json(tmp_path / "config.json", config)
    write_tokenizer(tmp_path, starter_model)
    write_weights(tmp_path, tensors)
    with pytest.raises(ModelCorruptError, match="another model"):
        load_model(ModelOptions(str(tmp_path)), [].append, bool)
