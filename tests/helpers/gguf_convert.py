"""A transformers model as a GGUF file, by the conversion rules of that format's own tools.

Key and tensor names come from the gguf package and not from the reader under test.
"""

from pathlib import Path

import gguf
import torch
from transformers import PreTrainedModel

# files of these families keep the two rows of a rotated pair side by side
_INTERLEAVED = {"llama", "mistral", "mixtral", "smollm3", "granite"}
_ARCHITECTURES = {
    "mistral": "llama",
    "mixtral": "llama",
    "gemma3_text": "gemma3",
    "qwen3_moe": "qwen3moe",
}
_OPTIONAL = {
    "sliding_window": "add_sliding_window",
    "attn_logit_softcapping": "add_attn_logit_softcapping",
    "final_logit_softcapping": "add_final_logit_softcapping",
    "attention_multiplier": "add_attention_scale",
    "embedding_multiplier": "add_embedding_scale",
    "residual_multiplier": "add_residual_scale",
    "logits_scaling": "add_logit_scale",
    "num_local_experts": "add_expert_count",
    "num_experts_per_tok": "add_expert_used_count",
    "moe_intermediate_size": "add_expert_feed_forward_length",
}


def write_gguf(path: Path, model: PreTrainedModel, *, experts_apart: bool = False) -> Path:
    """Write ``model`` in float32, without a tokenizer.

    ``experts_apart``: each expert's matrix is a tensor, as before the format knew stacks of them.
    """
    config = model.config
    arch = _ARCHITECTURES.get(config.model_type, config.model_type)
    writer = gguf.GGUFWriter(path, arch)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(config.vocab_size)
    head_dim = getattr(config, "head_dim", None) or (
        config.hidden_size // config.num_attention_heads
    )
    writer.add_key_length(head_dim)
    for key, method in _OPTIONAL.items():
        value = getattr(config, key, None)
        if value is not None:
            getattr(writer, method)(value)
    _write_rope(writer, model, head_dim)
    tensors = _tensors(model, arch, head_dim)
    for name, values in (_unstacked(tensors) if experts_apart else tensors).items():
        writer.add_tensor(name, values.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _unstacked(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    apart: dict[str, torch.Tensor] = {}
    for name, values in tensors.items():
        if name.endswith("_exps.weight"):
            stem = name.removesuffix("_exps.weight")
            apart |= {f"{stem}.{expert}.weight": part for expert, part in enumerate(values)}
        else:
            apart[name] = values
    return apart


def _write_rope(writer: gguf.GGUFWriter, model: PreTrainedModel, head_dim: int) -> None:
    rope = model.config.rope_parameters
    rope = rope.get("full_attention", rope)
    writer.add_rope_freq_base(rope["rope_theta"])
    writer.add_rope_dimension_count(int(head_dim * rope.get("partial_rotary_factor", 1.0)))
    original = rope.get("original_max_position_embeddings")
    if rope["rope_type"] == "longrope":
        writer.add_rope_scaling_orig_ctx_len(original)
        writer.add_rope_scaling_attn_factors(model.model.rotary_emb.attention_scaling)
        for kind in ("long", "short"):
            factors = torch.tensor(rope[f"{kind}_factor"], dtype=torch.float32)
            writer.add_tensor(f"rope_factors_{kind}.weight", factors.numpy())
    elif rope["rope_type"] in {"yarn", "linear"}:
        writer.add_rope_scaling_type(gguf.RopeScalingType(rope["rope_type"]))
        writer.add_rope_scaling_factor(rope["factor"])
        if original:
            writer.add_rope_scaling_orig_ctx_len(original)


def _tensors(model: PreTrainedModel, arch: str, head_dim: int) -> dict[str, torch.Tensor]:
    config = model.config
    key = next(k for k, name in gguf.MODEL_ARCH_NAMES.items() if name == arch)
    names = gguf.get_tensor_name_map(key, config.num_hidden_layers)
    adds_one = config.model_type.startswith("gemma")
    tensors: dict[str, torch.Tensor] = {}
    for name, values in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        part = values.float()
        if adds_one and "norm" in name:
            part = part + 1.0
        if config.model_type in _INTERLEAVED and name.endswith(("q_proj.weight", "k_proj.weight")):
            part = part.view(-1, 2, head_dim // 2, part.shape[1]).transpose(1, 2)
            part = part.reshape(values.shape)
        if name.endswith("experts.gate_up_proj"):
            at = f"blk.{name.split('.')[2]}."
            gate, up = part.chunk(2, 1)
            tensors |= {f"{at}ffn_gate_exps.weight": gate, f"{at}ffn_up_exps.weight": up}
            continue
        stored = names.get_name(name.removesuffix(".weight").removesuffix(".bias"))
        assert stored is not None, name
        tensors[f"{stored}.{'bias' if name.endswith('.bias') else 'weight'}"] = part
    return tensors
