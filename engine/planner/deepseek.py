"""From config.json to a Blueprint for DeepSeek: latent attention (V2 to V3.2), CSA and HCA (V4).

The extra layer that drafts tokens ahead is not counted: the engine does not load it.
"""

from dataclasses import replace

from engine.model.config import corrupt
from engine.model.footprint.blueprint import Blueprint, Product
from engine.model.footprint.cache import CacheTrack
from engine.planner.families import (
    MAX_CONTEXT,
    MAX_EXPERTS,
    MAX_LAYERS,
    layer_types,
    size,
    table_form,
)
from engine.planner.header import HeaderFields

LATENT_TYPES = frozenset({"deepseek_v2", "deepseek_v3", "deepseek_v32"})
COMPRESSED_TYPES = frozenset({"deepseek_v4"})
_CSA, _HCA = "compressed_sparse_attention", "heavily_compressed_attention"
_RATIOS = {0: "sliding_attention", 4: _CSA, 128: _HCA}


def read_latent(fields: HeaderFields, name: str) -> Blueprint:
    """V2, V3 and V3.2: a latent of all heads in each layer, V3.2's with an indexer.

    Attention is counted in its absorbed form, which multiplies queries and latents directly.
    """
    hidden, num_layers = size(fields, "hidden_size"), _num_layers(fields)
    products, vectors = _latent_attention(fields, hidden)
    tracks = [_latent_track(fields, num_layers)]
    if "index_head_dim" in fields:
        top = size(fields, "index_topk", limit=MAX_CONTEXT)
        index_products, track = _indexer(fields, num_layers)
        products += [*index_products, Product(track.width, hidden)]
        vectors += 2 * track.width
        tracks = [replace(tracks[0], read=top), track]
    num_dense = min(num_layers, fields.whole("first_k_dense_replace", 0))
    inner = size(fields, "intermediate_size")
    dense = [Product(2 * inner, hidden), Product(hidden, inner)]
    products = products * num_layers + dense * num_dense
    products += _experts(fields, hidden) * (num_layers - num_dense)
    return _blueprint(fields, name, products, num_layers * vectors + hidden, tracks)


def read_compressed(fields: HeaderFields, name: str) -> Blueprint:
    """V4: one shared key-value head, compressed by layer as ``compress_ratios`` says."""
    hidden, num_layers = size(fields, "hidden_size"), _num_layers(fields)
    kinds = _layer_kinds(fields, num_layers)
    num_csa, num_hca = kinds.count(_CSA), kinds.count(_HCA)
    products, vectors = _compressed_attention(fields, hidden)
    heads, head = size(fields, "num_attention_heads", limit=MAX_LAYERS), size(fields, "head_dim")
    index_products, index_track = _indexer(fields, num_csa)
    # values and gates of a pool; CSA has two overlapping ones, and so has its indexer
    pools = [*index_products, Product(4 * head, hidden), Product(4 * index_track.width, hidden)]
    top = size(fields, "index_topk", limit=MAX_CONTEXT)
    flops = 4 * heads * head
    tracks = [
        CacheTrack(num_csa, head, stride=4, read=top, flops=flops),
        replace(index_track, stride=4),
        CacheTrack(num_hca, head, stride=128, flops=flops),
        CacheTrack(num_layers, head, capacity=size(fields, "sliding_window"), flops=flops),
    ]
    products = [*products, *_experts(fields, hidden)] * num_layers + pools * num_csa
    products += [Product(2 * head, hidden)] * num_hca
    return _blueprint(fields, name, products, num_layers * vectors + hidden, tracks)


def _latent_attention(fields: HeaderFields, hidden: int) -> tuple[list[Product], int]:
    """Products of one layer's attention, and values of its vectors, the block's norms included."""
    heads = size(fields, "num_attention_heads", limit=MAX_LAYERS)
    latent, rotary = size(fields, "kv_lora_rank"), size(fields, "qk_rope_head_dim")
    plain, value = size(fields, "qk_nope_head_dim"), size(fields, "v_head_dim")
    queries, vectors = _queries(fields, hidden, heads * (plain + rotary))
    products = [
        *queries,
        Product(latent + rotary, hidden),
        Product(heads * (plain + value), latent),
        Product(hidden, heads * value),
    ]
    return products, 2 * hidden + latent + vectors


def _latent_track(fields: HeaderFields, num_layers: int) -> CacheTrack:
    heads = size(fields, "num_attention_heads", limit=MAX_LAYERS)
    latent, rotary = size(fields, "kv_lora_rank"), size(fields, "qk_rope_head_dim")
    return CacheTrack(num_layers, latent + rotary, flops=2 * heads * (2 * latent + rotary))


def _compressed_attention(fields: HeaderFields, hidden: int) -> tuple[list[Product], int]:
    """As ``_latent_attention``, for V4: pools apart, hyper-connections among the vectors."""
    heads, head = size(fields, "num_attention_heads", limit=MAX_LAYERS), size(fields, "head_dim")
    groups, rank = size(fields, "o_groups"), size(fields, "o_lora_rank")
    if heads * head % groups:
        raise corrupt(fields.path, f"{heads} heads do not divide into {groups} groups")
    queries, vectors = _queries(fields, hidden, heads * head)
    products = [
        *queries,
        Product(head, hidden),
        Product(groups * rank, heads * head // groups),
        Product(hidden, groups * rank),
    ]
    streams = size(fields, "hc_mult", 4)
    mixes = 2 * ((2 + streams) * streams * (streams * hidden + 1) + 3)
    return products, 2 * hidden + vectors + head + heads + mixes


def _indexer(fields: HeaderFields, layers: int) -> tuple[list[Product], CacheTrack]:
    """Queries and head weights of one indexer, and the keys it keeps for every token."""
    hidden, rank = size(fields, "hidden_size"), size(fields, "q_lora_rank")
    width, heads = size(fields, "index_head_dim"), size(fields, "index_n_heads")
    products = [Product(heads * width, rank), Product(heads, hidden)]
    return products, CacheTrack(layers, width, flops=2 * heads * width)


def _num_layers(fields: HeaderFields) -> int:
    return size(fields, "num_hidden_layers", limit=MAX_LAYERS)


def _queries(fields: HeaderFields, hidden: int, width: int) -> tuple[list[Product], int]:
    """Products that make the queries, through a narrow latent or directly, and its norm."""
    if "q_lora_rank" not in fields:
        return [Product(width, hidden)], 0
    rank = size(fields, "q_lora_rank")
    return [Product(rank, hidden), Product(width, rank)], rank


def _experts(fields: HeaderFields, hidden: int) -> list[Product]:
    """One layer's router, routed and shared experts."""
    routed = size(fields, "n_routed_experts", limit=MAX_EXPERTS)
    active = min(routed, size(fields, "num_experts_per_tok", limit=MAX_EXPERTS))
    width = size(fields, "moe_intermediate_size")
    products = [
        Product(routed, hidden),
        Product(2 * width, hidden, routed, active),
        Product(hidden, width, routed, active),
    ]
    shared = fields.whole("n_shared_experts", 0)
    if not 0 <= shared <= MAX_EXPERTS:
        raise corrupt(fields.path, f"its n_shared_experts is {shared}")
    if shared:
        products += [Product(2 * shared * width, hidden), Product(hidden, shared * width)]
    return products


def _layer_kinds(fields: HeaderFields, num_layers: int) -> list[str]:
    kinds = layer_types(fields, num_layers)
    if not kinds:
        ratios = fields.ids("compress_ratios")
        if len(ratios) < num_layers:
            raise corrupt(fields.path, f"its compress_ratios do not name {num_layers} layers")
        kinds = [_RATIOS.get(ratio, f"compressed by {ratio}") for ratio in ratios[:num_layers]]
    unknown = set(kinds) - set(_RATIOS.values())
    if unknown:
        raise fields.unsupported(f"layers of the kind {min(unknown)[:40]!a}")
    return kinds


def _blueprint(
    fields: HeaderFields,
    name: str,
    products: list[Product],
    vectors: int,
    tracks: list[CacheTrack],
) -> Blueprint:
    hidden, vocab = size(fields, "hidden_size"), size(fields, "vocab_size")
    is_tied = fields.flag("tie_word_embeddings", default=False)
    return Blueprint(
        name=name,
        model_type=fields.text("model_type"),
        vocab_size=vocab,
        hidden_size=hidden,
        num_layers=_num_layers(fields),
        context_length=size(fields, "max_position_embeddings", limit=MAX_CONTEXT),
        products=tuple(products),
        head=None if is_tied else Product(vocab, hidden),
        vector_values=vectors,
        table_form=table_form(fields),
        tracks=tuple(track for track in tracks if track.layers),
        widest_row=max(p.rows * (p.active if p.copies > 1 else 1) for p in products),
    )
