"""Tiny folders of architectures that no native decoder runs, as Hugging Face models are published."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from tests.helpers.tiny_tokenizers import byte_level_tokenizer

BASE: Mapping[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def random_model(model_type: str, changes: Mapping[str, Any]) -> PreTrainedModel:
    """transformers' own model in float32, no weight near its neutral value."""
    settings = AutoConfig.for_model(model_type, **{**BASE, **changes})
    model = AutoModelForCausalLM.from_config(settings).float().eval()
    draw = torch.Generator().manual_seed(3)
    for name, values in model.named_parameters():
        noise = torch.randn(values.shape, generator=draw)
        values.data = (
            noise * 0.3 + (1.0 if "norm" in name else 0.0) if values.dim() == 1 else noise * 0.15
        )
    return model


def write_model(folder: Path, model_type: str, **changes: Any) -> PreTrainedModel:
    """Save a random model with a byte-level tokenizer of 264 tokens beside it."""
    model = random_model(model_type, {"vocab_size": 264, **changes})
    model.save_pretrained(folder)
    tokenizer = byte_level_tokenizer()
    spec = json.loads(tokenizer._first.to_str())
    (folder / "tokenizer.json").write_text(json.dumps(spec), "utf-8")
    return model


def change_config(folder: Path, **changes: Any) -> None:
    """Change values of config.json."""
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **changes}), "utf-8")
