"""A ModelConfig from GGUF metadata."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from engine.model.architectures import find_gguf_family
from engine.model.config import ModelConfig, RopeScaling, check_config
from engine.model.family import Family, layer_names
from engine.model.fields import Fields
from engine.model.gguf_split import GgufTensors
from engine.model.rope import attention_factor
from engine.quant.ggml import can_decode, decode_vector

_ROPE_FACTORS = "rope_freqs.weight"
_LONG_FACTORS = ("rope_factors_short.weight", "rope_factors_long.weight")
# What config.json calls a key -> what a GGUF header calls it, behind the architecture's name.
_KEYS = {
    "sliding_window": "attention.sliding_window",
    "sliding_window_pattern": "attention.sliding_window_pattern",
    "attn_logit_softcapping": "attn_logit_softcapping",
    "final_logit_softcapping": "final_logit_softcapping",
    "rope_local_base_freq": "rope.freq_base_swa",
    "attention_multiplier": "attention.scale",
    "embedding_multiplier": "embedding_scale",
    "residual_multiplier": "residual_scale",
    "logits_scaling": "logit_scale",
    "num_local_experts": "expert_count",
    "num_experts_per_tok": "expert_used_count",
    "moe_intermediate_size": "expert_feed_forward_length",
}


def read_gguf_config(file: GgufTensors) -> ModelConfig:
    """Read and check the model's shape.

    Raises ModelUnsupportedError (an architecture we do not run) or ModelCorruptError (a value is
    missing, of the wrong type, or impossible).
    """
    fields = Fields(file.metadata, str(file.path))
    arch = fields.text("general.architecture")
    family = find_gguf_family(arch, has_experts=fields.whole(f"{arch}.expert_count", 0) > 0)
    if family is None:
        raise fields.unsupported(f"the architecture {arch[:40]!a}")
    config = check_config(_read_sizes(file, fields, arch, family), str(file.path))
    if family.is_interleaved and config.rotary_dim != config.head_dim:
        raise fields.unsupported(
            f"rotation of {config.rotary_dim} of {config.head_dim} dimensions a head"
        )
    keys = {key: f"{arch}.{name}" for key, name in _KEYS.items()}
    described = family.describe(config, Fields(file.metadata, str(file.path), keys))
    return check_config(described, str(file.path))


def _read_sizes(file: GgufTensors, fields: Fields, arch: str, family: Family) -> ModelConfig:
    num_heads = fields.whole(f"{arch}.attention.head_count")
    hidden = fields.whole(f"{arch}.embedding_length")
    head_dim = fields.whole(f"{arch}.attention.key_length", hidden // max(1, num_heads))
    return ModelConfig(
        model_type=family.model_type,
        name=fields.text("general.name", file.path.stem),
        vocab_size=_vocab_size(file, fields, arch),
        hidden_size=hidden,
        intermediate_size=fields.whole(f"{arch}.feed_forward_length"),
        num_layers=fields.whole(f"{arch}.block_count"),
        num_heads=num_heads,
        num_kv_heads=fields.whole(f"{arch}.attention.head_count_kv", num_heads),
        head_dim=head_dim,
        rms_norm_eps=fields.real(f"{arch}.attention.layer_norm_rms_epsilon"),
        rope_theta=fields.real(f"{arch}.rope.freq_base", 10_000.0),
        max_position_embeddings=fields.whole(f"{arch}.context_length"),
        rotary_dim=fields.whole(f"{arch}.rope.dimension_count", head_dim),
        rope_scaling=_rope_scaling(file, fields, arch),
        tie_word_embeddings="output.weight" not in file.tensors,
        attention_bias="blk.0.attn_q.bias" in file.tensors,
        license=fields.text("general.license", ""),
        bos_id=next(iter(fields.ids("tokenizer.ggml.bos_token_id")), None),
        eos_ids=_eos_ids(fields),
    )


def _vocab_size(file: GgufTensors, fields: Fields, arch: str) -> int:
    embedding = file.tensors.get("token_embd.weight")
    rows = embedding.shape[0] if embedding else 0
    return fields.whole(f"{arch}.vocab_size", rows)


def _eos_ids(fields: Fields) -> tuple[int, ...]:
    """End of text, of turn and of message, each once."""
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    ids = [token for key in keys for token in fields.ids(f"tokenizer.ggml.{key}")]
    return tuple(dict.fromkeys(ids))


def _rope_scaling(file: GgufTensors, fields: Fields, arch: str) -> RopeScaling | None:
    at = f"{arch}.rope.scaling."
    trained = fields.whole(f"{arch}.context_length")
    original = fields.whole(at + "original_context_length", trained)
    if _LONG_FACTORS[1] in file.tensors:
        short, long = (_factors(file, fields, name) for name in _LONG_FACTORS)
        attention = fields.real(at + "attn_factor") if at + "attn_factor" in fields else None
        return RopeScaling(
            "longrope",
            factor=trained / max(1, original),
            original_max_position=original,
            attention_factor=attention,
            short_factors=short,
            long_factors=long,
        )
    if _ROPE_FACTORS in file.tensors:
        return RopeScaling("factors", freq_factors=_factors(file, fields, _ROPE_FACTORS))
    kind = fields.text(at + "type", "none")
    match kind:
        case "none":
            return None
        case "linear":
            return RopeScaling("linear", factor=fields.real(at + "factor", 1.0))
        case "yarn":
            return _yarn(fields, at, original)
        case _:
            raise fields.unsupported(f"the rope scaling {kind[:40]!a}")


def _yarn(fields: Fields, at: str, original: int) -> RopeScaling:
    """``attn_factor`` comes on top of what the factor asks for."""
    scaling = RopeScaling(
        "yarn",
        factor=fields.real(at + "factor", 1.0),
        original_max_position=original,
        beta_fast=fields.real(at + "yarn_beta_fast", 32.0),
        beta_slow=fields.real(at + "yarn_beta_slow", 1.0),
    )
    extra = fields.real(at + "attn_factor", 1.0)
    return replace(scaling, attention_factor=extra * attention_factor(scaling))


def _factors(file: GgufTensors, fields: Fields, name: str) -> tuple[float, ...]:
    tensor = file.tensors.get(name)
    if tensor is None:
        raise fields.unsupported(f"rope factors without {name}")
    if not can_decode(tensor.type):
        raise fields.unsupported(f"{tensor.type.name} tensors")
    values: list[float] = decode_vector(file.raw(name), tensor.type).tolist()
    if not all(0 < value < 1e9 for value in values):
        raise fields.unsupported("rope factors that are not positive numbers")
    return tuple(values)


def gguf_names(
    config: ModelConfig, family: Family, stored: Collection[str] = ()
) -> Mapping[str, str]:
    """Canonical parameter name -> tensor name in the file.

    ``stored``: all names of the file; older ones keep each expert's matrix in a tensor of its own.
    """
    is_apart = "blk.0.ffn_down.0.weight" in stored
    parts = {
        "attention_norm": "attn_norm.weight",
        "post_attention_norm": "post_attention_norm.weight",
        "q_norm": "attn_q_norm.weight",
        "k_norm": "attn_k_norm.weight",
        "o": "attn_output.weight",
        "o_bias": "attn_output.bias",
        "ffn_norm": "ffn_norm.weight",
        "post_ffn_norm": "post_ffw_norm.weight",
        "router": "ffn_gate_inp.weight",
    }
    for part in "qkv":
        parts[part] = f"attn_{part}.weight"
        parts[f"{part}_bias"] = f"attn_{part}.bias"
    for part in ("gate", "up", "down"):
        parts[part] = f"ffn_{part}.weight"
        parts[f"{part}_bias"] = f"ffn_{part}.bias"
        parts[f"experts.{{e}}.{part}"] = (
            f"ffn_{part}.{{e}}.weight" if is_apart else f"ffn_{part}_exps.weight"
        )
    ends = {
        "embed": "token_embd.weight",
        "norm": "output_norm.weight",
        "head": "output.weight",
    }
    return ends | layer_names(config, parts | dict(family.gguf_names), "blk.{i}.")
