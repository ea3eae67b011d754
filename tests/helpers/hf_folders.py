"""Model folders as Hugging Face models are published, made from the starter model's GGUF file."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

from engine.model.architectures import find_family
from engine.model.gguf_source import GgufSource
from engine.model.hf_config import hf_names
from engine.model.loader import open_checkpoint
from engine.text.tokenizer import tokenizer_from_gguf

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tokenizer(folder: Path, starter: Path) -> None:
    """tokenizer.json and tokenizer_config.json, from the object behind our own tokenizer."""
    source = GgufSource.open(starter)
    metadata = dict(source.metadata)
    source.close()
    tokenizer = tokenizer_from_gguf(metadata)
    spec = json.loads(tokenizer._first.to_str())
    spec["added_tokens"] = []
    for token_id in range(tokenizer.vocab_size):
        if tokenizer.is_special(token_id):
            piece = tokenizer.token_text(token_id)
            spec["model"]["vocab"][piece] = token_id
            flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
            token = {"id": token_id, "content": piece, "special": True, **flags}
            spec["added_tokens"].append(token)
    write_json(folder / "tokenizer.json", spec)
    config = {
        "bos_token": tokenizer.token_text(tokenizer.bos_id),
        "eos_token": tokenizer.token_text(tokenizer.eos_id),
        "chat_template": metadata["tokenizer.chat_template"],
        "tokenizer_class": "PreTrainedTokenizerFast",
    }
    write_json(folder / "tokenizer_config.json", config)


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), "utf-8")


def folder_config(config: Any, **changes: Any) -> dict[str, Any]:
    """config.json of a Llama of that shape."""
    return {
        "model_type": "llama",
        "architectures": ["LlamaForCausalLM"],
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "rms_norm_eps": config.rms_norm_eps,
        "rope_theta": config.rope_theta,
        "max_position_embeddings": config.max_position_embeddings,
        "tie_word_embeddings": config.tie_word_embeddings,
        "bos_token_id": config.bos_id,
        "eos_token_id": list(config.eos_ids),
        **changes,
    }


def write_weights(
    folder: Path, tensors: Mapping[str, torch.Tensor], num_shards: int = 1
) -> list[Path]:
    """model.safetensors, or several files under an index."""
    tensors = {name: tensor.contiguous() for name, tensor in tensors.items()}
    if num_shards == 1:
        safetensors.torch.save_file(tensors, folder / "model.safetensors")
        return [folder / "model.safetensors"]
    names = list(tensors)
    places: dict[str, str] = {}
    paths = []
    for shard in range(num_shards):
        path = folder / f"model-{shard + 1:05}-of-{num_shards:05}.safetensors"
        held = names[shard::num_shards]
        safetensors.torch.save_file({name: tensors[name] for name in held}, path)
        places |= dict.fromkeys(held, path.name)
        paths.append(path)
    write_json(folder / "model.safetensors.index.json", {"weight_map": places})
    return paths


def dequantized(
    starter: Path, dtype: torch.dtype, keep: Callable[[str], bool] = bool
) -> dict[str, torch.Tensor]:
    """Every tensor of the starter model by its name in a folder."""
    source = open_checkpoint(starter)
    names = hf_names(source.config, find_family(source.config.model_type))
    tensors = {}
    for name, shape in source.shapes.items():
        if keep(name):
            read = source.weight(name).dequantize() if len(shape) == 2 else source.vector(name)
            tensors[names[name]] = read.to(dtype)
    source.close()
    return tensors


def starter_folder(folder: Path, starter: Path, dtype: torch.dtype, num_shards: int = 1) -> Path:
    """The starter model as a folder."""
    source = GgufSource.open(starter)
    config = source.config
    source.close()
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", folder_config(config))
    write_tokenizer(folder, starter)
    write_weights(folder, dequantized(starter, dtype), num_shards)
    return folder
