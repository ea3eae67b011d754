"""What the same text would take if the cache kept it in another way: bytes, by the one formula.

``KVFormat.vector_bytes`` says what a key or value takes; here it is multiplied. Imports no torch.
"""

from dataclasses import replace

from engine.api import CacheForm, CacheWay
from engine.config import KVFormat, KVGeometry
from engine.kv.compressed_geometry import CompressedGeometry, EntryForm

_FORMATS = {
    CacheForm.FP32: KVFormat.FLOAT32,
    CacheForm.BF16: KVFormat.BFLOAT16,
    CacheForm.INT8: KVFormat.INT8,
    CacheForm.INT4: KVFormat.INT4,
}


def cache_ways(geometry: KVGeometry, num_heads: int, num_tokens: int) -> tuple[CacheWay, ...]:
    """Each way that suits the model, for one text of ``num_tokens``; ``num_heads`` of queries."""
    kept = {form: _keep(geometry, kind) for form, kind in _FORMATS.items()}
    ways = [
        CacheWay(form, _text_bytes(made, num_tokens), is_present=_is_same(made, geometry))
        for form, made in kept.items()
        if made is not None
    ]
    if isinstance(geometry, CompressedGeometry) or num_heads > geometry.num_kv_heads:
        ways.append(CacheWay(CacheForm.ALL_HEADS, _all_heads(geometry, num_heads, num_tokens)))
    if any(group.window for group in geometry.groups):
        whole = replace(geometry, groups=()).bytes_per_token * num_tokens
        ways.append(CacheWay(CacheForm.NO_WINDOW, whole))
    return tuple(ways)


def _keep(geometry: KVGeometry, kind: KVFormat) -> KVGeometry | None:
    """The cache in another format; None where its vectors do not divide into it."""
    if isinstance(geometry, CompressedGeometry):
        form = EntryForm(kind.value)
        widths = (geometry.head_dim, geometry.compression.index_dim)
        return replace(geometry, form=form) if all(map(form.can_keep, widths)) else None
    return replace(geometry, format=kind) if kind.can_keep(geometry.head_dim) else None


def _is_same(made: KVGeometry, geometry: KVGeometry) -> bool:
    """Float16 and bfloat16 are one way: 16 bits."""
    if isinstance(made, CompressedGeometry) and isinstance(geometry, CompressedGeometry):
        return _sixteen(made.form.value) == _sixteen(geometry.form.value)
    return _sixteen(made.format.value) == _sixteen(geometry.format.value)


def _sixteen(name: str) -> str:
    return KVFormat.BFLOAT16.value if name == KVFormat.FLOAT16.value else name


def _text_bytes(geometry: KVGeometry, num_tokens: int) -> int:
    """Bytes of a text; layers with a window keep no more than that."""
    if isinstance(geometry, CompressedGeometry):
        return geometry.state_bytes + geometry.bytes_per_token * num_tokens
    if not geometry.groups:
        return geometry.bytes_per_token * num_tokens
    return sum(
        part.bytes_per_token * (min(num_tokens, group.window) if group.window else num_tokens)
        for part, group in zip(geometry.parts, geometry.groups, strict=True)
    )


def _all_heads(geometry: KVGeometry, num_heads: int, num_tokens: int) -> int:
    """Bytes with a key and a value for each head of the queries, in windows as they are."""
    if isinstance(geometry, CompressedGeometry):
        vectors = 2 * geometry.num_layers * num_heads * num_tokens
        return vectors * geometry.form.entry_bytes(geometry.head_dim)
    return _text_bytes(replace(geometry, num_kv_heads=num_heads), num_tokens)
