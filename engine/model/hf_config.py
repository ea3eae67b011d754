"""A ModelConfig from a folder's config.json, as Hugging Face models are published."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import ModelMissingError
from engine.model.config import ModelConfig, RopeScaling, check_config
from engine.model.fields import Fields
from engine.model.safetensors import read_json

MODEL_TYPES = frozenset({"llama"})
_MAX_CONFIG_BYTES = 10_000_000


def read_hf_config(folder: Path) -> ModelConfig:
    """Read and check the model's shape.

    Raises ModelMissingError (no config.json), ModelUnsupportedError (a model type, quantisation
    or activation we do not run) or ModelCorruptError (a value is missing or impossible).
    """
    if not (folder / "config.json").is_file():
        raise ModelMissingError(f"There is no config.json in {folder}.", path=str(folder))
    fields = Fields(read_json(folder / "config.json", _MAX_CONFIG_BYTES), str(folder))
    model_type = fields.text("model_type")
    _refuse_unsupported(fields, model_type)
    num_heads = fields.whole("num_attention_heads")
    hidden = fields.whole("hidden_size")
    theta, scaling = _rope(fields)
    head_dim = fields.whole("head_dim", hidden // max(1, num_heads))
    config = ModelConfig(
        model_type=model_type,
        name=folder.resolve().name,
        vocab_size=fields.whole("vocab_size"),
        hidden_size=hidden,
        intermediate_size=fields.whole("intermediate_size"),
        num_layers=fields.whole("num_hidden_layers"),
        num_heads=num_heads,
        num_kv_heads=fields.whole("num_key_value_heads", num_heads),
        head_dim=head_dim,
        rms_norm_eps=fields.real("rms_norm_eps"),
        rope_theta=theta,
        max_position_embeddings=fields.whole("max_position_embeddings"),
        rotary_dim=head_dim,
        rope_scaling=scaling,
        tie_word_embeddings=fields.flag("tie_word_embeddings", default=False),
        attention_bias=fields.flag("attention_bias", default=False),
        mlp_bias=fields.flag("mlp_bias", default=False),
        bos_id=next(iter(fields.ids("bos_token_id")), None),
        eos_ids=_eos_ids(folder, fields),
    )
    return check_config(config, str(folder))


def _refuse_unsupported(fields: Fields, model_type: str) -> None:
    if model_type not in MODEL_TYPES:
        raise fields.unsupported(f"the architecture {model_type[:40]!a}")
    if "quantization_config" in fields:
        raise fields.unsupported("weights that were quantised before they were published")
    activation = fields.text("hidden_act", "silu")
    if activation != "silu":
        raise fields.unsupported(f"the activation {activation[:40]!a}")


def _eos_ids(folder: Path, fields: Fields) -> tuple[int, ...]:
    """Ids of config.json and of generation_config.json, each once."""
    ids = list(fields.ids("eos_token_id"))
    generation = folder / "generation_config.json"
    if generation.is_file():
        more = Fields(read_json(generation, _MAX_CONFIG_BYTES), str(folder))
        ids += more.ids("eos_token_id")
    return tuple(dict.fromkeys(ids))


def _rope(fields: Fields) -> tuple[float, RopeScaling | None]:
    """Theta and scaling, from ``rope_parameters`` or the older ``rope_scaling``."""
    section = fields.section("rope_parameters") or fields.section("rope_scaling")
    if section is None:
        return fields.real("rope_theta", 10_000.0), None
    theta = section.real("rope_theta", fields.real("rope_theta", 10_000.0))
    kind = section.text("rope_type", section.text("type", "default"))
    original = section.whole(
        "original_max_position_embeddings", fields.whole("max_position_embeddings")
    )
    match kind:
        case "default":
            return theta, None
        case "linear" | "dynamic":
            return theta, RopeScaling(
                kind, factor=section.real("factor"), original_max_position=original
            )
        case "llama3":
            return theta, RopeScaling(
                "llama3",
                factor=section.real("factor"),
                original_max_position=original,
                low_freq_factor=section.real("low_freq_factor"),
                high_freq_factor=section.real("high_freq_factor"),
            )
        case _:
            raise fields.unsupported(f"the rope scaling {kind[:40]!a}")


def hf_names(num_layers: int) -> Mapping[str, str]:
    """Canonical parameter name -> tensor name in the files."""
    names = {
        "embed": "model.embed_tokens.weight",
        "norm": "model.norm.weight",
        "head": "lm_head.weight",
    }
    parts: dict[str, Any] = {
        "attention_norm": "input_layernorm.weight",
        "ffn_norm": "post_attention_layernorm.weight",
    }
    for part in "qkvo":
        parts[part] = f"self_attn.{part}_proj.weight"
        parts[f"{part}_bias"] = f"self_attn.{part}_proj.bias"
    for part in ("gate", "up", "down"):
        parts[part] = f"mlp.{part}_proj.weight"
        parts[f"{part}_bias"] = f"mlp.{part}_proj.bias"
    for index in range(num_layers):
        for canonical, stored in parts.items():
            names[f"layers.{index}.{canonical}"] = f"model.layers.{index}.{stored}"
    return names
