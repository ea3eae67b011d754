"""From an open checkpoint to a Blueprint: the tensors the loader will read, as it will pack them.

Knows how ``engine.model.builder`` joins matrices into products. Names that are not canonical, as
the compatibility path has them, are sorted by what is in them: the first number is the layer, and
"embed", "wte" or "wpe" mark the table.
"""

import math
import re
from collections.abc import Mapping
from typing import Protocol

from engine.kv.compressed_geometry import Compression
from engine.model.config import ModelConfig
from engine.model.footprint.blueprint import Blueprint, Product
from engine.model.footprint.cache import CacheTrack, attention
from engine.model.source import Shape
from engine.quant.stored import Stored

_LAYER = re.compile(r"(?:^|\.)(\d+)\.")
_EXPERT = re.compile(r"\.experts\.(\d+)\.")
_FUSED = {"q": "qkv", "k": "qkv", "v": "qkv", "gate": "gate_up", "up": "gate_up"}
_CANONICAL_TABLE, _CANONICAL_HEAD = "embed", "head"
# matrices whose rounding would change which experts or entries are chosen, kept in float32
_EXACT = (".router", ".router_table", ".matrix", "index.weights", "index.bias", "pool.bias")
_STEPPED_LAYER_BIASES = ("o_bias", "gate_bias", "up_bias", "down_bias")


class Headers(Protocol):
    """What a checkpoint's headers say; ``engine.model.source.Checkpoint`` is one."""

    @property
    def config(self) -> ModelConfig:
        """The model's shape."""
        ...

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Shape of every parameter, a stack of matrices with three sizes or two."""
        ...

    @property
    def is_four_bit(self) -> bool:
        """Whether most of the layers' weights have 4 bits in the file."""
        ...

    def stored(self, name: str) -> Stored:
        """How the files keep the matrix ``name``."""
        ...


def blueprint_of(source: Headers) -> Blueprint:
    """What loading ``source`` will allocate. Reads no weights."""
    config, shapes = source.config, source.shapes
    table = _table(shapes)
    head = _head(source, shapes)
    products = _products(source, shapes, {table, _CANONICAL_HEAD if head else ""})
    stored = source.stored(table) if table else Stored()
    return Blueprint(
        name=config.name,
        model_type=config.model_type,
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        num_layers=config.num_layers,
        context_length=config.max_position_embeddings,
        products=tuple(products),
        head=head,
        vector_values=_vector_values(config, shapes),
        table_form=stored.table_form,
        tracks=tuple(tracks_of(config)),
        widest_row=_widest_row(config, products),
        is_from_weights=True,
        is_four_bit=source.is_four_bit,
        is_table_four_bit=stored.is_four_bit,
        is_table_even=stored.is_even,
        has_native_step=_has_native_step(config, shapes),
    )


def tracks_of(config: ModelConfig) -> list[CacheTrack]:
    """What each kind of layer keeps of a token."""
    if config.compression is not None:
        return _compressed(config, config.compression)
    sliding = [layer for layer in range(config.num_layers) if config.is_sliding(layer)]
    full = [layer for layer in range(config.num_layers) if not config.is_sliding(layer)]
    heads = (config.num_heads, config.num_kv_heads, config.head_dim)
    return [
        attention(len(layers), *heads, window, layers)
        for layers, window in ((full, None), (sliding, config.sliding_window))
        if layers
    ]


def _compressed(config: ModelConfig, shape: Compression) -> list[CacheTrack]:
    """Entries of several tokens, the indexer's keys, and the window that every layer sees."""
    width, flops = config.head_dim, 4 * config.num_heads * config.head_dim
    csa, index = shape.csa_layers, 2 * shape.index_heads * shape.index_dim
    tracks = [
        CacheTrack(csa, width, stride=shape.csa_stride, read=shape.index_top, flops=flops),
        CacheTrack(csa, shape.index_dim, stride=shape.csa_stride, flops=index),
        CacheTrack(shape.hca_layers, width, stride=shape.hca_stride, flops=flops),
        CacheTrack(config.num_layers, width, capacity=shape.window, flops=flops),
    ]
    return [track for track in tracks if track.layers]


def is_table(name: str) -> bool:
    """Whether ``name`` is that of an embedding."""
    return any(mark in name for mark in ("embed", "wte", "wpe")) and "embed_out" not in name


def _table(shapes: Mapping[str, Shape]) -> str:
    """The name of the embedding: the largest of those that could be it; "" if there is none."""
    if _CANONICAL_TABLE in shapes:
        return _CANONICAL_TABLE
    found = [n for n, s in shapes.items() if is_table(n) and len(s) == 2 and not _LAYER.search(n)]
    return max(found, key=lambda name: shapes[name][0] * shapes[name][1], default="")


def _head(source: Headers, shapes: Mapping[str, Shape]) -> Product | None:
    if _CANONICAL_HEAD in shapes:
        return _product(source, [_CANONICAL_HEAD], shapes, None)
    if _CANONICAL_TABLE in shapes or source.config.tie_word_embeddings:
        return None
    # under a foreign name it is one of the products outside the layers; a table with no
    # counterpart among them is shared whatever the configuration says
    vocab, hidden = source.config.vocab_size, source.config.hidden_size
    outside = (
        n for n, s in shapes.items() if s == (vocab, hidden) and not is_table(n) and "." in n
    )
    name = next(outside, None)
    return None if name is None else _product(source, [name], shapes, None)


def _products(source: Headers, shapes: Mapping[str, Shape], without: set[str]) -> list[Product]:
    groups: dict[str, list[str]] = {}
    counts: dict[str, int] = {}
    is_canonical = _CANONICAL_TABLE in shapes
    head_shape = (source.config.vocab_size, source.config.hidden_size)
    for name, shape in shapes.items():
        is_end = not is_canonical and shape == head_shape and not _LAYER.search(name)
        if len(shape) < 2 or name in without or is_end:
            continue  # the ends are counted as table and head
        key = _group(name, is_canonical=is_canonical)
        expert = _EXPERT.search(name)
        counts[key] = max(counts.get(key, 1), int(expert[1]) + 1 if expert else 1)
        if expert is None or int(expert[1]) == 0:  # all experts are alike
            groups.setdefault(key, []).append(name)
    return [
        _product(source, names, shapes, _layer(names[0]), counts[key])
        for key, names in groups.items()
    ]


def _group(name: str, *, is_canonical: bool) -> str:
    """The product that a matrix is a part of; experts have one name together."""
    at, _, part = _EXPERT.sub(".experts.", name).rpartition(".")
    return f"{at}.{_FUSED.get(part, part) if is_canonical else part}"


def _product(
    source: Headers,
    names: list[str],
    shapes: Mapping[str, Shape],
    layer: int | None,
    copies: int = 1,
) -> Product:
    stored = [source.stored(name) for name in names]
    groups = {part.group for part in stored}
    *stack, _, columns = shapes[names[0]]
    copies *= math.prod(stack)  # a stack of experts in one tensor
    experts = source.config.experts
    return Product(
        rows=sum(shapes[name][-2] for name in names),
        columns=columns,
        copies=copies,
        active=min(copies, experts.per_token) if experts and copies > 1 else copies,
        # groups of different sizes do not make one product of groups
        is_four_bit=all(part.is_four_bit for part in stored) and len(groups) == 1,
        group=min(groups),
        is_even=all(part.is_even for part in stored),
        layer=layer,
        is_exact=names[0].endswith(_EXACT),
    )


def _layer(name: str) -> int | None:
    found = _LAYER.search(name)
    return int(found[1]) if found else None


def _vector_values(config: ModelConfig, shapes: Mapping[str, Shape]) -> int:
    values = sum(shape[0] for shape in shapes.values() if len(shape) == 1)
    if config.qk_norm == "head":  # kept once for every head
        heads = config.num_heads + config.num_kv_heads
        values += config.num_layers * (heads - 2) * config.head_dim
    return values


def _widest_row(config: ModelConfig, products: list[Product]) -> int:
    heads = (config.num_heads + 2 * config.num_kv_heads) * config.head_dim
    experts = config.experts
    inner = experts.per_token * experts.intermediate_size if experts else config.intermediate_size
    widest = max((product.rows for product in products if product.copies == 1), default=0)
    return max(2 * inner, heads) or widest


def _has_native_step(config: ModelConfig, shapes: Mapping[str, Shape]) -> bool:
    """Whether every part of the layers is one that ``engine.model.native_step`` takes."""
    is_canonical = _CANONICAL_TABLE in shapes
    biases = any(name.endswith(_STEPPED_LAYER_BIASES) for name in shapes)
    return is_canonical and not biases and steps_natively(config)


def steps_natively(config: ModelConfig) -> bool:
    """Whether the native core takes layers of these sizes, biases apart."""
    rotary = config.rotary_dim or config.head_dim
    return (
        config.experts is None
        and not config.attention_softcap
        and config.qk_norm != "projection"
        and config.hidden_size % 32 == config.intermediate_size % 32 == config.head_dim % 32 == 0
        and rotary % 32 == 0
    )
