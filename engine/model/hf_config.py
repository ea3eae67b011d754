"""A ModelConfig from a folder's config.json, as Hugging Face models are published."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from engine.errors import ModelMissingError
from engine.model.architectures import find_family
from engine.model.config import Activation, ModelConfig, RopeScaling, check_config
from engine.model.family import Family, layer_names
from engine.model.fields import Fields
from engine.model.safetensors import read_json
from engine.model.wrapped_text import ONLY_TEXT, WRAPPERS, text_values

_MAX_CONFIG_BYTES = 10_000_000
_ACTIVATIONS: Mapping[str, Activation] = {"silu": "silu", "gelu_pytorch_tanh": "gelu_tanh"}


def read_hf_config(folder: Path) -> ModelConfig:
    """Read and check the model's shape.

    Raises ModelMissingError (no config.json), ModelUnsupportedError (a model type, quantisation
    or activation we do not run) or ModelCorruptError (a value is missing or impossible).
    """
    if not (folder / "config.json").is_file():
        raise ModelMissingError(f"There is no config.json in {folder}.", path=str(folder))
    values = read_json(folder / "config.json", _MAX_CONFIG_BYTES)
    whole = Fields(values, str(folder))
    outer_type = whole.text("model_type")
    is_wrapped = outer_type in WRAPPERS
    fields = Fields(text_values(values), str(folder)) if is_wrapped else whole
    model_type = fields.text("model_type")
    family = find_family(model_type)
    if family is None:
        raise fields.unsupported(f"the architecture {(model_type or outer_type)[:40]!a}")
    config = check_config(_read_sizes(fields, family, folder), str(folder))
    described = check_config(family.describe(config, fields), str(folder))
    return replace(described, notes=(ONLY_TEXT,)) if is_wrapped else described


def _read_sizes(fields: Fields, family: Family, folder: Path) -> ModelConfig:
    num_heads = fields.whole("num_attention_heads")
    hidden = fields.whole("hidden_size")
    head_dim = fields.whole("head_dim", hidden // max(1, num_heads))
    rope = _rope_section(fields)
    rotated = rope.real("partial_rotary_factor", fields.real("partial_rotary_factor", 1.0))
    return ModelConfig(
        model_type=family.model_type,
        name=folder.resolve().name,
        vocab_size=fields.whole("vocab_size"),
        hidden_size=hidden,
        intermediate_size=fields.whole("intermediate_size"),
        num_layers=fields.whole("num_hidden_layers"),
        num_heads=num_heads,
        num_kv_heads=fields.whole("num_key_value_heads", num_heads),
        head_dim=head_dim,
        rms_norm_eps=fields.real("rms_norm_eps"),
        rope_theta=rope.real("rope_theta", fields.real("rope_theta", family.default_theta)),
        max_position_embeddings=fields.whole("max_position_embeddings"),
        rotary_dim=int(head_dim * rotated),
        rope_scaling=_rope_scaling(fields, rope),
        tie_word_embeddings=fields.flag("tie_word_embeddings", default=family.is_tied),
        attention_bias=fields.flag("attention_bias", default=False),
        mlp_bias=fields.flag("mlp_bias", default=False),
        bos_id=next(iter(fields.ids("bos_token_id")), None),
        eos_ids=_eos_ids(folder, fields),
        activation=_activation(fields),
    )


def _activation(fields: Fields) -> Activation:
    name = fields.text("hidden_activation", fields.text("hidden_act", "silu"))
    activation = _ACTIVATIONS.get(name)
    if activation is None:
        raise fields.unsupported(f"the activation {name[:40]!a}")
    return activation


def _eos_ids(folder: Path, fields: Fields) -> tuple[int, ...]:
    """Ids of config.json and of generation_config.json, each once."""
    ids = list(fields.ids("eos_token_id"))
    generation = folder / "generation_config.json"
    if generation.is_file():
        more = Fields(read_json(generation, _MAX_CONFIG_BYTES), str(folder))
        ids += more.ids("eos_token_id")
    return tuple(dict.fromkeys(ids))


def _rope_section(fields: Fields) -> Fields:
    """``rope_parameters``, or the older ``rope_scaling``; of the full layers if they differ."""
    section = fields.section("rope_parameters") or fields.section("rope_scaling")
    if section is None:
        return Fields({}, fields.path)
    if "full_attention" in section:
        return section.section("full_attention") or section
    return section


def _rope_scaling(fields: Fields, rope: Fields) -> RopeScaling | None:
    kind = rope.text("rope_type", rope.text("type", "default"))
    trained = fields.whole("max_position_embeddings")
    # Phi-3 keeps it beside the section, and means that one
    original = rope.whole("original_max_position_embeddings", trained)
    original = fields.whole("original_max_position_embeddings", original)
    grown = trained / max(1, original)
    match kind:
        case "default":
            return None
        case "linear":
            return RopeScaling("linear", factor=rope.real("factor"))
        case "dynamic":
            return RopeScaling("dynamic", rope.real("factor"), original_max_position=trained)
        case "llama3":
            return RopeScaling(
                "llama3",
                factor=rope.real("factor"),
                original_max_position=original,
                low_freq_factor=rope.real("low_freq_factor"),
                high_freq_factor=rope.real("high_freq_factor"),
            )
        case "yarn" if "long_factor" not in rope:
            return _yarn(rope, rope.real("factor", grown), original)
        case "longrope" | "su" | "yarn":
            return RopeScaling(
                "longrope",
                factor=rope.real("factor", grown),
                original_max_position=original,
                attention_factor=_optional(rope, "attention_factor"),
                short_factors=rope.reals("short_factor"),
                long_factors=rope.reals("long_factor"),
            )
        case _:
            raise fields.unsupported(f"the rope scaling {kind[:40]!a}")


def _yarn(rope: Fields, factor: float, original: int) -> RopeScaling:
    return RopeScaling(
        "yarn",
        factor=factor,
        original_max_position=original,
        beta_fast=rope.real("beta_fast", 32.0),
        beta_slow=rope.real("beta_slow", 1.0),
        mscale=rope.real("mscale", 0.0),
        mscale_all_dim=rope.real("mscale_all_dim", 0.0),
        truncate=rope.flag("truncate", default=True),
        attention_factor=_optional(rope, "attention_factor"),
    )


def _optional(fields: Fields, key: str) -> float | None:
    return fields.real(key) if key in fields else None


def hf_names(config: ModelConfig, family: Family) -> Mapping[str, str]:
    """Canonical parameter name -> tensor name in the files."""
    parts = {
        "attention_norm": "input_layernorm.weight",
        "ffn_norm": "post_attention_layernorm.weight",
        "q_norm": "self_attn.q_norm.weight",
        "k_norm": "self_attn.k_norm.weight",
    }
    for part in "qkvo":
        parts[part] = f"self_attn.{part}_proj.weight"
        parts[f"{part}_bias"] = f"self_attn.{part}_proj.bias"
    for part in ("gate", "up", "down"):
        parts[part] = f"mlp.{part}_proj.weight"
        parts[f"{part}_bias"] = f"mlp.{part}_proj.bias"
    ends = {
        "embed": "model.embed_tokens.weight",
        "norm": "model.norm.weight",
        "head": "lm_head.weight",
    }
    return ends | layer_names(config, parts | dict(family.hf_names), "model.layers.{i}.")
