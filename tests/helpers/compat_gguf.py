"""Models of transformers as GGUF files, by what the format's converters do to each architecture.

Names of keys and tensors come from the gguf package and not from the reader under test.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf
import torch
from transformers import PreTrainedModel

from tests.helpers.tiny_tokenizers import byte_level_metadata

ARCHITECTURES = {"phi": "phi2", "cohere": "command-r", "gpt_neox": "gptneox"}
_CONV1D = ("c_attn.weight", "c_proj.weight", "c_fc.weight")


def write_compat_gguf(
    path: Path, model: PreTrainedModel, *, kind: gguf.GGMLQuantizationType | None = None
) -> Path:
    """Write ``model`` in float32, or its matrices as ``kind``, with a byte-level tokenizer."""
    config = model.config
    arch = ARCHITECTURES.get(config.model_type, config.model_type)
    writer = gguf.GGUFWriter(path, arch)
    _write_keys(writer, config)
    for key, value in byte_level_metadata().items():
        _write_value(writer, key, value)
    for name, values in _tensors(model, arch).items():
        data = values.contiguous().numpy()
        if kind is None or data.ndim < 2 or data.shape[1] % 32:
            writer.add_tensor(name, data)
        else:
            writer.add_tensor(name, gguf.quantize(data, kind), raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _write_keys(writer: gguf.GGUFWriter, config: Any) -> None:
    writer.add_block_count(config.num_hidden_layers)
    context = getattr(config, "max_position_embeddings", None)
    writer.add_context_length(context or getattr(config, "seq_length", 256))
    writer.add_embedding_length(config.hidden_size)
    name = {"gpt2": "n_inner", "bloom": "", "falcon": "ffn_hidden_size"}
    inner = getattr(config, name.get(config.model_type, "intermediate_size"), None)
    writer.add_feed_forward_length(inner or 4 * config.hidden_size)
    heads = config.num_attention_heads
    writer.add_head_count(heads)
    writer.add_head_count_kv(_kv_heads(config))
    head_dim = getattr(config, "head_dim", None) or config.hidden_size // heads
    if config.model_type == "gemma":
        writer.add_key_length(head_dim)
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    else:
        names = ("layer_norm_epsilon", "layer_norm_eps", "norm_epsilon", "norm_eps")
        writer.add_layer_norm_eps(next(v for n in names if (v := getattr(config, n, None))))
    rope = getattr(config, "rope_parameters", None)
    if rope:
        writer.add_rope_freq_base(rope["rope_theta"])
        writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1.0)))
    if getattr(config, "use_parallel_residual", None) is not None:
        writer.add_parallel_residual(config.use_parallel_residual)
    if config.model_type == "cohere":
        writer.add_logit_scale(config.logit_scale)


def _kv_heads(config: Any) -> int:
    if config.model_type == "falcon":
        if config.new_decoder_architecture:
            return config.num_kv_heads
        return 1 if config.multi_query else config.num_attention_heads
    return getattr(config, "num_key_value_heads", None) or config.num_attention_heads


def _tensors(model: PreTrainedModel, arch: str) -> Mapping[str, torch.Tensor]:
    config = model.config
    key = next(k for k, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    names = gguf.get_tensor_name_map(key, config.num_hidden_layers)
    tensors: dict[str, torch.Tensor] = {}
    for name, values in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        stem, _, last = name.rpartition(".")
        stored = names.get_name(stem) or names.get_name(stem.removeprefix("transformer."))
        assert stored is not None, name
        tensors[f"{stored}.{last}"] = _converted(name, values.float(), config)
    return tensors


def _converted(name: str, values: torch.Tensor, config: Any) -> torch.Tensor:
    heads = config.num_attention_heads
    match config.model_type:
        case "gpt2" if name.endswith(_CONV1D):
            return values.t()
        case "gpt_neox" | "bloom" if "query_key_value" in name:
            parts = values.view(heads, 3, -1, *values.shape[1:])
            return parts.transpose(0, 1).reshape(values.shape)
        case "falcon" if "query_key_value" in name:
            groups = _kv_heads(config)
            parts = values.view(groups, heads // groups + 2, -1, values.shape[1])
            cut = (parts[:, :-2], parts[:, -2:-1], parts[:, -1:])
            return torch.cat([part.reshape(-1, values.shape[1]) for part in cut])
        case "gemma" | "nemotron" if name.endswith("norm.weight"):
            return values + 1.0
    return values


def _write_value(writer: gguf.GGUFWriter, key: str, value: Any) -> None:
    match value:
        case str():
            writer.add_string(key, value)
        case int():
            writer.add_uint32(key, value)
        case _:
            writer.add_array(key, value)
