"""The text part of a folder whose model reads pictures as well.

Such a folder's config.json describes the text model in ``text_config`` (or, older, among its own
keys), leaves out what its publisher's classes take for granted, and puts a prefix before the names
of the text model's tensors. A prompt of text alone takes the same way through the wrapper as
through the text model by itself, so that is all that is loaded. Knows keys and names; no tensors.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Any, Final

ONLY_TEXT: Final = "pictures are not read: only the text part is loaded"

# Wrappers that give a prompt without pictures to their text model as it is.
WRAPPERS: Final = frozenset(
    {
        "gemma3",
        "internvl",
        "llava",
        "llava_next",
        "llava_onevision",
        "mistral3",
        "qwen2_5_vl",
        "qwen2_vl",
        "qwen3_vl",
        "vipllava",
    }
)
# Text models by the names they have inside a wrapper. Their rotation in three axes is the plain one
# where there are no pictures: all three positions of a token are then the same.
_PLAIN_TYPES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "qwen2_vl": "qwen2",
        "qwen2_vl_text": "qwen2",
        "qwen2_5_vl": "qwen2",
        "qwen2_5_vl_text": "qwen2",
        "qwen3_vl_text": "qwen3",
    }
)
_LLAMA: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "vocab_size": 32_000,
        "hidden_size": 4_096,
        "intermediate_size": 11_008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "rms_norm_eps": 1e-6,
        "max_position_embeddings": 2_048,
    }
)
# What the publishers' configurations leave out, by the text model's type.
_DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "gemma3_text": {
            "vocab_size": 262_208,
            "hidden_size": 2_304,
            "intermediate_size": 9_216,
            "num_hidden_layers": 26,
            "num_attention_heads": 8,
            "num_key_value_heads": 4,
            "head_dim": 256,
            "rms_norm_eps": 1e-6,
            "max_position_embeddings": 131_072,
            "hidden_activation": "gelu_pytorch_tanh",
            "query_pre_attn_scalar": 256,
            "sliding_window": 4_096,
        },
        "llama": _LLAMA,
        "mistral": {
            **_LLAMA,
            "intermediate_size": 14_336,
            "num_key_value_heads": 8,
            "max_position_embeddings": 131_072,
        },
        "qwen2": {
            **_LLAMA,
            "vocab_size": 151_936,
            "intermediate_size": 22_016,
            "max_position_embeddings": 32_768,
        },
    }
)
_OUTER_KEYS: Final = ("bos_token_id", "eos_token_id", "tie_word_embeddings")
_ROPE_KEYS: Final = ("rope_parameters", "rope_scaling")
_EMBEDDING: Final = "model.embed_tokens.weight"
_PREFIXES: Final = ("language_model.", "model.language_model.", "")


def text_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The keys of config.json that describe the text model, as if it stood alone.

    Those of a folder without pictures come back as they are.
    """
    inner = values.get("text_config")
    outer_type = values.get("model_type")
    if not isinstance(inner, dict):
        if outer_type not in _PLAIN_TYPES:
            return dict(values)
        inner = dict(values)
    text_type = inner.get("model_type", "llama")
    plain_type = _PLAIN_TYPES.get(text_type, text_type) if isinstance(text_type, str) else ""
    outer = {key: values[key] for key in _OUTER_KEYS if values.get(key) is not None}
    merged = {**_DEFAULTS.get(plain_type, {}), **_given(inner), **outer, "model_type": plain_type}
    for key in _ROPE_KEYS:
        if isinstance(merged.get(key), dict):
            merged[key] = _one_axis(merged[key])
    return merged


def text_prefix(stored: Collection[str]) -> str:
    """What stands before the text model's tensor names in the files; "" in a plain folder."""
    for prefix in _PREFIXES:
        if wrapped_name(_EMBEDDING, prefix) in stored:
            return prefix
    return ""


def wrapped_name(name: str, prefix: str) -> str:
    """The plain tensor ``name`` as a folder with ``prefix`` calls it.

    ``language_model.`` stands before whole names; ``model.language_model.`` takes the place of
    ``model.``, and leaves the head outside.
    """
    if prefix != "model.language_model.":
        return prefix + name
    return prefix + name.removeprefix("model.") if name.startswith("model.") else name


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


def _one_axis(rope: dict[str, Any]) -> dict[str, Any]:
    """A rope section without its split into three axes."""
    plain = {key: value for key, value in rope.items() if key != "mrope_section"}
    return {key: "default" if value == "mrope" else value for key, value in plain.items()}
