"""Folders of any native family with weights of zeros, quantised before publication or not."""

import json
from pathlib import Path
from typing import Any

import torch

from engine.model.architectures import find_family
from engine.model.hf_config import hf_names, read_hf_config
from engine.model.source import optional_shapes, required_shapes
from tests.helpers.hf_folders import write_json, write_weights
from tests.helpers.tiny_tokenizers import byte_level_tokenizer

BASE: dict[str, Any] = {
    "vocab_size": 320,
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-5,
    "max_position_embeddings": 512,
}
GEMMA: dict[str, Any] = {
    **BASE,
    "model_type": "gemma3_text",
    "head_dim": 64,
    "num_key_value_heads": 1,
    "sliding_window": 128,
    "query_pre_attn_scalar": 64,
    "hidden_activation": "gelu_pytorch_tanh",
    "layer_types": ["sliding_attention"] * 3 + ["full_attention"],
}
MIXTURE: dict[str, Any] = {
    **BASE,
    "model_type": "qwen3_moe",
    "head_dim": 32,
    "num_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 64,
    "decoder_sparse_step": 1,
    "norm_topk_prob": True,
    "tie_word_embeddings": False,
}
FAMILIES: dict[str, dict[str, Any]] = {
    "llama": {**BASE, "model_type": "llama", "tie_word_embeddings": True},
    "llama untied": {**BASE, "model_type": "llama", "tie_word_embeddings": False},
    "qwen2": {**BASE, "model_type": "qwen2", "tie_word_embeddings": True},
    "qwen3": {**BASE, "model_type": "qwen3", "tie_word_embeddings": False},
    "gemma3": GEMMA,
    "olmo2": {**BASE, "model_type": "olmo2", "tie_word_embeddings": False},
    "phi3": {**BASE, "model_type": "phi3", "tie_word_embeddings": False},
    "mixture": MIXTURE,
}
_GROUP = 32


def write_family(
    folder: Path, config: dict[str, Any], dtype: torch.dtype = torch.bfloat16
) -> Path:
    """A folder for ``config`` with a tokenizer of bytes."""
    folder.mkdir(exist_ok=True)
    write_json(folder / "config.json", config)
    write_weights(folder, family_tensors(folder, dtype))
    spec = json.loads(byte_level_tokenizer()._first.to_str())
    write_json(folder / "tokenizer.json", spec)
    return folder


def write_gptq(folder: Path, config: dict[str, Any], group: int = _GROUP) -> Path:
    """As ``write_family``, its layers' matrices in groups of 4 bits."""
    packed = {"quant_method": "gptq", "bits": 4, "group_size": group, "desc_act": False}
    write_family(folder, config)
    plain = family_tensors(folder, torch.float16)
    tensors: dict[str, torch.Tensor] = {}
    for name, values in plain.items():
        if "_proj" not in name or values.dim() != 2:
            tensors[name] = values
            continue
        rows, columns = values.shape
        at = name.removesuffix("weight")
        tensors[f"{at}qweight"] = torch.zeros(columns // 8, rows, dtype=torch.int32)
        tensors[f"{at}qzeros"] = torch.zeros(columns // group, rows // 8, dtype=torch.int32)
        tensors[f"{at}scales"] = torch.ones(columns // group, rows, dtype=torch.float16)
    write_weights(folder, tensors)
    write_json(folder / "config.json", {**config, "quantization_config": packed})
    return folder


def family_tensors(folder: Path, dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Every tensor that the config.json in ``folder`` asks for, biases where the family has them."""
    config = read_hf_config(folder)
    family = find_family(config.model_type)
    assert family is not None
    names, shapes = hf_names(config, family), required_shapes(config)
    if config.model_type == "qwen2":
        shapes |= {n: s for n, s in optional_shapes(config).items() if n[-6:-5] in "qkv"}
    members: dict[str, list[tuple[int, ...]]] = {}
    for name, shape in shapes.items():
        members.setdefault(names[name], []).append(shape)
    return {
        stored: torch.zeros(sum(p[0] for p in parts), *parts[0][1:], dtype=dtype)
        for stored, parts in members.items()
    }
