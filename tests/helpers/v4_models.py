"""DeepSeek-V4 models of a few thousand random weights, as folders with the published names."""

import json
from pathlib import Path
from typing import Any

import torch

from engine.config import KVFormat
from engine.kv.compressed import CompressedStorage
from engine.kv.compressed_geometry import CompressedGeometry, EntryForm
from engine.model.architectures.deepseek_v4.config import V4Config, describe
from engine.model.architectures.deepseek_v4.source import all_shapes, stored_names
from engine.model.fields import Fields
from tests.helpers.decoding import CPU
from tests.helpers.hf_folders import write_json, write_weights
from tests.helpers.tiny_tokenizers import byte_level_tokenizer

# the keys of the published V4-Pro, its numbers made small
PUBLISHED: dict[str, Any] = {
    "architectures": ["DeepseekV4ForCausalLM"],
    "model_type": "deepseek_v4",
    "vocab_size": 97,
    "hidden_size": 48,
    "moe_intermediate_size": 32,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "qk_rope_head_dim": 8,
    "q_lora_rank": 24,
    "o_groups": 2,
    "o_lora_rank": 16,
    "index_n_heads": 8,
    "index_head_dim": 16,
    "index_topk": 4,
    "sliding_window": 8,
    "compress_ratios": [128, 128, 4, 0, 4, 0],
    "compress_rope_theta": 160000,
    "rope_theta": 10000,
    "rope_scaling": {
        "type": "yarn",
        "factor": 16,
        "beta_fast": 32,
        "beta_slow": 1,
        "original_max_position_embeddings": 64,
    },
    "num_hash_layers": 2,
    "n_routed_experts": 4,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "norm_topk_prob": True,
    "scoring_func": "sqrtsoftplus",
    "routed_scaling_factor": 2.5,
    "swiglu_limit": 10.0,
    "hc_mult": 4,
    "hc_sinkhorn_iters": 5,
    "hc_eps": 1e-6,
    "hidden_act": "silu",
    "rms_norm_eps": 1e-6,
    "attention_bias": False,
    "max_position_embeddings": 1024,
    "num_nextn_predict_layers": 1,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
}
# groups so short that a few dozen tokens fill many of them
SHORT = {"compress_rates": {"compressed_sparse_attention": 4, "heavily_compressed_attention": 16}}


def v4_config(**changes: Any) -> V4Config:
    return describe(Fields({**PUBLISHED, **changes}, "test"), "test")


def random_tensors(config: V4Config, seed: int = 0) -> dict[str, torch.Tensor]:
    """Every parameter under its published name, in scales that keep values alive."""
    generator = torch.Generator().manual_seed(seed)
    tensors = {}
    for name, shape in all_shapes(config):
        stored = stored_names(name)[0]
        if name.endswith("router_table"):
            rows = [
                torch.randperm(config.experts.count, generator=generator)[: shape[1]]
                for _ in range(shape[0])
            ]
            tensors[stored] = torch.stack(rows)
            continue
        values = torch.randn(shape, generator=generator)
        if name.endswith("norm"):
            values = 1 + 0.3 * values
        elif len(shape) == 2 and not name.endswith("bias"):
            values /= shape[1] ** 0.5
        tensors[stored] = values
    return tensors


def write_v4_folder(folder: Path, **changes: Any) -> Path:
    """config.json, model.safetensors and a byte-level tokenizer of 264 tokens."""
    changes = {"vocab_size": 264, **changes}
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "config.json", {**PUBLISHED, **changes})
    write_weights(folder, random_tensors(v4_config(**changes)))
    spec = json.loads(byte_level_tokenizer()._first.to_str())
    write_json(folder / "tokenizer.json", spec)
    return folder


def compressed_storage(
    config: V4Config, num_blocks: int, form: EntryForm = EntryForm.FP32
) -> CompressedStorage:
    base = config.base
    geometry = CompressedGeometry(
        num_layers=base.num_layers,
        num_kv_heads=1,
        head_dim=base.head_dim,
        block_size=config.compression.block_size,
        num_blocks=num_blocks,
        format=KVFormat.FLOAT32,
        compression=config.compression,
        form=form,
    )
    return CompressedStorage(geometry, CPU)
