"""A folder of an architecture this engine has no decoder for: its real tensors, its real fields.

Weights are counted from the safetensors headers, the cache from what config.json says of heads,
windows, latents and the kinds of layers. What cannot be known (how such a model is computed) makes
the plan an estimate, and it says so. Opens headers only; imports torch with the readers it uses.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

from typing_extensions import override

from engine.model.config import ExpertConfig, ModelConfig
from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import CacheTrack, attention
from engine.model.footprint.checkpoint import Headers, blueprint_of
from engine.model.prequantized import Prequantized, read_scheme
from engine.model.safetensors import SafetensorsFile, open_folder
from engine.model.source import Shape
from engine.planner.families import MAX_CONTEXT, MAX_EXPERTS, MAX_LAYERS, estimate_note, size
from engine.planner.header import HeaderFields
from engine.quant.stored import Stored, stored_floats

_NAMES: Mapping[str, tuple[str, ...]] = {
    "hidden_size": ("hidden_size", "n_embd", "d_model", "dim"),
    "intermediate_size": ("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner"),
    "num_hidden_layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "num_attention_heads": ("num_attention_heads", "n_head", "n_heads"),
    "max_position_embeddings": (
        "max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length",
        "seq_length", "model_max_length",
    ),
}  # fmt: skip
_DEFAULT_CONTEXT = 2_048  # of models that count no positions
_OTHER_PARTS = ("vision", "visual", "audio", "multi_modal", "mm_projector", "image_newline", "mtp")
_WITHOUT_CACHE = ("linear", "mamba", "recurrent", "conv", "rwkv", "ssm", "mlp", "moe")
_CHUNKED, _SLIDING = "chunked_attention", "sliding_attention"


def read_unknown_folder(folder: Path, fields: HeaderFields) -> Blueprint:
    """Count the tensors in ``folder``; ``fields``: its configuration, of the language part.

    Raises what ``open_folder`` and ``read_scheme`` raise, and ModelCorruptError.
    """
    scheme = read_scheme(folder)
    config = _config(fields, folder.resolve().name)
    with ExitStack() as opened:
        files = [opened.enter_context(closing(file)) for file in open_folder(folder)]
        owners = {name: file for file in files for name in file.tensors}
        packed = None if scheme is None else Prequantized(scheme, owners, str(folder))
        blueprint = blueprint_of(_FolderHeaders(config, owners, packed))
    return replace(
        blueprint,
        tracks=tuple(cache_tracks(fields)),
        has_native_step=False,
        notes=(estimate_note(config.model_type),),
    )


class _FolderHeaders(Headers):
    """The tensors of a folder by their own names. Nothing can be read from it."""

    def __init__(
        self,
        config: ModelConfig,
        owners: Mapping[str, SafetensorsFile],
        packed: Prequantized | None,
    ) -> None:
        self._config = config
        self._owners = owners
        self._packed = packed
        shapes = {name: file.tensors[name].shape for name, file in owners.items()}
        if packed is not None:
            modules = tuple(name.removesuffix("weight") for name in packed.shapes)
            shapes = {n: s for n, s in shapes.items() if not n.startswith(modules)}
            shapes |= packed.shapes
        self._shapes = {n: s for n, s in shapes.items() if not any(p in n for p in _OTHER_PARTS)}

    @property
    @override
    def config(self) -> ModelConfig:
        return self._config

    @property
    @override
    def shapes(self) -> Mapping[str, Shape]:
        return self._shapes

    @property
    @override
    def is_four_bit(self) -> bool:
        return self._packed is not None and self._packed.is_four_bit

    @override
    def stored(self, name: str) -> Stored:
        if self._packed is not None and name in self._packed.shapes:
            return self._packed.stored(name)
        return stored_floats(self._owners[name].tensors[name].dtype)


def cache_tracks(fields: HeaderFields) -> list[CacheTrack]:
    """What each layer keeps of a token, by the fields that say it; none where layers keep nothing."""
    num_layers = _whole(fields, "num_hidden_layers", limit=MAX_LAYERS)
    if not any(name in fields for name in _NAMES["num_attention_heads"]):
        return []  # a state-space model: its state does not grow
    heads = _whole(fields, "num_attention_heads", limit=MAX_LAYERS)
    if "kv_lora_rank" in fields and "qk_rope_head_dim" in fields:
        latent, rotary = size(fields, "kv_lora_rank"), size(fields, "qk_rope_head_dim")
        return [CacheTrack(num_layers, latent + rotary, flops=2 * heads * (2 * latent + rotary))]
    keys = 1 if fields.flag("multi_query", default=False) else heads
    keys = size(fields, "num_key_value_heads", keys, limit=MAX_LAYERS)
    head_dim = size(
        fields, "head_dim", max(1, _whole(fields, "hidden_size", default=heads) // heads)
    )
    windows = _windows(fields, num_layers)
    # what no list of layers marks as a window is kept by the engine
    is_marked = bool(fields.words("layer_types"))
    chunk = fields.whole("attention_chunk_size", 0)
    return [
        replace(
            attention(windows.count(window), heads, keys, head_dim, window),
            is_kept=not is_marked or window == chunk,
        )
        for window in dict.fromkeys(windows)
    ]


def _windows(fields: HeaderFields, num_layers: int) -> list[int | None]:
    """Of each layer with a cache; None: it looks back over everything."""
    window = fields.whole("sliding_window", 0)
    if not fields.flag("use_sliding_window", default=True):
        window = 0
    chunk = fields.whole("attention_chunk_size", 0)
    kinds = _kinds(fields, num_layers)
    if not kinds:
        kinds = [_SLIDING if window else "full_attention"] * num_layers
    spans = {_SLIDING: window, _CHUNKED: chunk}
    kept = [kind for kind in kinds if not any(mark in kind for mark in _WITHOUT_CACHE)]
    return [spans.get(kind, 0) if spans.get(kind, 0) > 0 else None for kind in kept]


def _kinds(fields: HeaderFields, num_layers: int) -> list[str]:
    """The kind of each layer, however the configuration lists them; empty where it does not."""
    named = fields.words("layer_types") or fields.words("layers_block_type")
    if named:
        return named[:num_layers]
    pattern = fields.text("hybrid_override_pattern", "")
    if pattern:  # M: Mamba, *: attention, -: a feed-forward block
        return ["full_attention" if mark == "*" else "mamba" for mark in pattern[:num_layers]]
    listed: Iterable[int] = fields.ids("attn_layer_indices")
    if "attn_layer_period" in fields:
        period = size(fields, "attn_layer_period", limit=MAX_LAYERS)
        listed = range(fields.whole("attn_layer_offset", 0), num_layers, period)
    with_attention = set(listed)
    if not with_attention:
        return []
    return ["full_attention" if i in with_attention else "mamba" for i in range(num_layers)]


def _config(fields: HeaderFields, name: str) -> ModelConfig:
    hidden = _whole(fields, "hidden_size")
    heads = _whole(fields, "num_attention_heads", default=1, limit=MAX_LAYERS)
    keys = size(fields, "num_key_value_heads", heads, limit=MAX_LAYERS)
    inner = _whole(fields, "intermediate_size", default=4 * hidden)
    return ModelConfig(
        model_type=fields.text("model_type"),
        name=name,
        vocab_size=size(fields, "vocab_size"),
        hidden_size=hidden,
        intermediate_size=inner,
        num_layers=_whole(fields, "num_hidden_layers", limit=MAX_LAYERS),
        num_heads=heads,
        num_kv_heads=keys,
        head_dim=size(fields, "head_dim", max(1, hidden // heads)),
        rms_norm_eps=1.0,
        rope_theta=1.0,
        max_position_embeddings=_whole(
            fields, "max_position_embeddings", default=_DEFAULT_CONTEXT, limit=MAX_CONTEXT
        ),
        experts=_experts(fields, inner),
    )


def _experts(fields: HeaderFields, inner: int) -> ExpertConfig | None:
    keys = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
    key = next((key for key in keys if key in fields and fields.whole(key) > 0), None)
    if key is None:
        return None
    count = size(fields, key, limit=MAX_EXPERTS)
    active = min(count, size(fields, "num_experts_per_tok", count, limit=MAX_EXPERTS))
    return ExpertConfig(count, active, size(fields, "moe_intermediate_size", inner))


def _whole(
    fields: HeaderFields, key: str, *, default: int | None = None, limit: int = 1 << 24
) -> int:
    """``key`` by any of its names."""
    name = next((name for name in _NAMES[key] if name in fields), _NAMES[key][0])
    return size(fields, name, default, limit)
