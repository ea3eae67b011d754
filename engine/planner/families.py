"""From config.json to a Blueprint, for models whose layers are attention and a gated block.

Knows the fields such models publish and how each family departs from Llama. An architecture it
has not heard of is counted as if it were Llama, and the plan says so.
"""

from dataclasses import dataclass

from engine.model.config import corrupt
from engine.model.footprint.blueprint import Blueprint, Product
from engine.model.footprint.cache import CacheTrack, attention
from engine.planner.header import HeaderFields
from engine.quant.stored import TableForm

MAX_LAYERS = 1_024
MAX_SIZE = 1 << 24
MAX_EXPERTS = 1 << 16
MAX_CONTEXT = 1 << 28

_QUERY_KEY_NORMS = frozenset({"qwen3", "qwen3_moe", "gemma3", "gemma3_text"})
_WIDE_QUERY_KEY_NORMS = frozenset({"olmo2"})
_FOUR_NORMS = frozenset({"gemma2", "gemma3", "gemma3_text"})
_TIED = frozenset({"gemma", "gemma2", "gemma3", "gemma3_text", "smollm3"})
_QKV_BIAS = frozenset({"qwen2", "qwen2_moe"})
_OTHER_STEPS = frozenset({"gemma2", "olmo2"})  # capped scores, norms over all heads at once
_PERIODS = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6}  # the last layer of each is a full one
_KNOWN = _QUERY_KEY_NORMS | _WIDE_QUERY_KEY_NORMS | _FOUR_NORMS | _TIED | _QKV_BIAS | {
    "granite", "llama", "mistral", "mixtral", "phi3",
}  # fmt: skip


def size(fields: HeaderFields, key: str, default: int | None = None, limit: int = MAX_SIZE) -> int:
    """A whole number from 1 to ``limit``; raises ModelCorruptError for any other."""
    value = fields.whole(key) if default is None else fields.whole(key, default)
    if not 0 < value <= limit:
        raise corrupt(fields.path, f"its {key} is {str(value)[:40]}")
    return value


def table_form(fields: HeaderFields) -> TableForm:
    """How the embedding is published."""
    kind = fields.text("dtype", fields.text("torch_dtype", "bfloat16"))
    return "32 bits" if kind.endswith(("float32", "float64")) else "16 bits"


def layer_types(fields: HeaderFields, num_layers: int) -> list[str]:
    """The ``layer_types`` of a configuration; empty where it has none."""
    values = fields.words("layer_types")
    if not values:
        return []
    if len(values) < num_layers:
        raise corrupt(fields.path, f"its layer_types do not name {num_layers} layers")
    return values[:num_layers]


@dataclass(frozen=True, slots=True)
class Heads:
    """Query heads, the key-value heads they share, and the size of each."""

    queries: int
    keys: int
    size: int

    @property
    def fused_rows(self) -> int:
        """Rows of q, k and v in one product."""
        return (self.queries + 2 * self.keys) * self.size


def estimate_note(model_type: str) -> str:
    """What a plan says of an architecture that is not known."""
    return f"~ estimate: unknown architecture {model_type[:40]!a}"


def read_heads(fields: HeaderFields, hidden: int) -> Heads:
    """Head counts and size; raises ModelCorruptError where they do not fit each other."""
    queries = size(fields, "num_attention_heads", limit=MAX_LAYERS)
    keys = size(fields, "num_key_value_heads", queries, limit=MAX_LAYERS)
    if queries % keys:
        raise corrupt(fields.path, f"{queries} heads cannot share {keys} key-value heads")
    return Heads(queries, keys, size(fields, "head_dim", max(1, hidden // queries)))


def read_family(fields: HeaderFields, name: str) -> Blueprint:
    """The blueprint of a configuration. Raises ModelCorruptError or ModelUnsupportedError."""
    model_type = fields.text("model_type")
    hidden = size(fields, "hidden_size")
    num_layers = size(fields, "num_hidden_layers", limit=MAX_LAYERS)
    vocab = size(fields, "vocab_size")
    heads = read_heads(fields, hidden)
    layer_products, inner = _layer_products(fields, hidden, heads)
    is_tied = fields.flag("tie_word_embeddings", default=model_type in _TIED)
    notes = () if model_type in _KNOWN else (
        estimate_note(model_type),
    )  # fmt: skip
    products = [product for layer in range(num_layers) for product in layer_products(layer)]
    return Blueprint(
        name=name,
        model_type=model_type,
        vocab_size=vocab,
        hidden_size=hidden,
        num_layers=num_layers,
        context_length=size(fields, "max_position_embeddings", limit=MAX_CONTEXT),
        products=tuple(products),
        head=None if is_tied else Product(vocab, hidden),
        vector_values=num_layers * _vectors(fields, model_type, hidden, heads) + hidden,
        table_form=table_form(fields),
        tracks=tuple(_tracks(fields, model_type, num_layers, heads)),
        widest_row=max(2 * inner, heads.fused_rows),
        has_native_step=_has_native_step(fields, model_type, hidden, heads),
        notes=notes,
    )


def _has_native_step(fields: HeaderFields, model_type: str, hidden: int, heads: Heads) -> bool:
    """Whether every part of the layers is one that the native core takes."""
    has_other_biases = any(
        fields.flag(key, default=False) for key in ("attention_bias", "mlp_bias")
    )
    has_experts = any(fields.whole(key, 0) for key in ("num_experts", "num_local_experts"))
    rotated = fields.real("partial_rotary_factor", 1.0)
    sizes = (hidden, size(fields, "intermediate_size"), heads.size, int(heads.size * rotated))
    return (
        model_type in _KNOWN - _OTHER_STEPS
        and not has_other_biases
        and not has_experts
        and all(value % 32 == 0 for value in sizes)
    )


class _Layers:
    """The products of each layer: all alike, or experts in some of them."""

    def __init__(
        self, dense: tuple[Product, ...], sparse: tuple[Product, ...], period: int
    ) -> None:
        self._dense = dense
        self._sparse = sparse
        self._period = period
        self.dense_layers: frozenset[int] = frozenset()

    def __call__(self, layer: int) -> tuple[Product, ...]:
        is_dense = not self._sparse or layer in self.dense_layers or (layer + 1) % self._period
        return self._dense if is_dense else self._sparse


def _layer_products(fields: HeaderFields, hidden: int, heads: Heads) -> tuple[_Layers, int]:
    """What makes the products of a layer, and the widest feed-forward row of one token."""
    shared = (Product(heads.fused_rows, hidden), Product(hidden, heads.queries * heads.size))
    inner = size(fields, "intermediate_size")
    dense = (*shared, Product(2 * inner, hidden), Product(hidden, inner))
    key = "num_experts" if "num_experts" in fields else "num_local_experts"
    if fields.whole(key, 0) == 0:
        return _Layers(dense, (), 1), inner
    experts = size(fields, key, limit=MAX_EXPERTS)
    active = min(experts, size(fields, "num_experts_per_tok", limit=MAX_EXPERTS))
    width = size(fields, "moe_intermediate_size", inner)
    sparse = (
        *shared,
        Product(experts, hidden),
        Product(2 * width, hidden, experts, active),
        Product(hidden, width, experts, active),
    )
    layers = _Layers(dense, sparse, size(fields, "decoder_sparse_step", 1))
    layers.dense_layers = frozenset(fields.ids("mlp_only_layers"))
    return layers, active * width


def _vectors(fields: HeaderFields, model_type: str, hidden: int, heads: Heads) -> int:
    """Values of a layer's norms and biases."""
    values = (4 if model_type in _FOUR_NORMS else 2) * hidden
    if model_type in _QUERY_KEY_NORMS:
        values += 2 * heads.size
    elif model_type in _WIDE_QUERY_KEY_NORMS:
        values += (heads.queries + heads.keys) * heads.size
    has_bias = fields.flag("attention_bias", default=False)
    if has_bias or model_type in _QKV_BIAS:
        values += heads.fused_rows + (hidden if has_bias else 0)
    if fields.flag("mlp_bias", default=False):
        values += 2 * size(fields, "intermediate_size") + hidden
    return values


def _tracks(
    fields: HeaderFields, model_type: str, num_layers: int, heads: Heads
) -> list[CacheTrack]:
    window = (
        size(fields, "sliding_window", limit=MAX_CONTEXT) if "sliding_window" in fields else None
    )
    if not fields.flag("use_sliding_window", default=True):
        window = None
    types = layer_types(fields, num_layers)
    unknown = set(types) - {"sliding_attention", "full_attention"}
    if unknown:
        raise fields.unsupported(f"layers of the kind {min(unknown)[:40]!a}")
    layers = range(num_layers)
    if window is None:
        sliding = []
    elif types:
        sliding = [layer for layer in layers if types[layer] == "sliding_attention"]
    elif model_type in _PERIODS:
        period = size(fields, "sliding_window_pattern", _PERIODS[model_type])
        sliding = [layer for layer in layers if (layer + 1) % period]
    else:
        sliding = list(layers)[max(0, fields.whole("max_window_layers", 0)) :]
    full = [layer for layer in layers if layer not in sliding]
    sizes = (heads.queries, heads.keys, heads.size)
    return [
        attention(len(some), *sizes, limit, some)
        for some, limit in ((full, None), (sliding, window))
        if some
    ]
