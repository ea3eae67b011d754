"""Looks at a model's queries and keys before an INT4 cache keeps any, and balances it for them.

A little text runs through the model once, a few tokens here and a few there: in pieces that lie far
apart, as the rotation of positions turns what channels have in common. For each layer and K/V head
it gives the mean of the keys, and a factor for each channel: of queries with a mean square q^2 and
keys with a variance k^2 there, (q / k)^(1/2), which spreads the errors of scores evenly over the
channels once these are rotated among themselves. Both are rounded, so that the last bits of
products do not show in them.

Knows the built-in texts and decoders of our own; what is done with the result is told in
``engine.kv.quantized``.
"""

import hashlib
from collections.abc import Callable, Sequence

import torch

from engine.config import KVFormat, KVGeometry
from engine.kv.quantized import QuantizedStorage
from engine.kv.storage import PagedStorage
from engine.model.batch import Decoder, ForwardBatch, Segment
from engine.model.calibration import calibration_texts
from engine.model.config import ModelConfig
from engine.model.native import NativeDecoder
from engine.text.tokenizer import Tokenizer

_PIECES = 8
_LENGTH = 16  # tokens of a piece
_SPAN = 4_096  # positions that the pieces are spread over, at most
_GOLDEN = 0.618034  # steps of this part of the span leave no gap and follow no channel's turns
_LEAST = 1e-3  # of the largest of a head's channels: a channel that is always the same is no zero


class _Sums:
    """What one layer's queries and keys add up to; float32."""

    def __init__(self) -> None:
        self._count = 0
        self._queries = self._keys = self._squares = torch.zeros(())

    def add(self, queries: torch.Tensor, keys: torch.Tensor) -> None:
        """See queries [T, kv_heads, group, head_dim] and keys [T, kv_heads, head_dim]."""
        self._count += keys.shape[0]
        self._queries = self._queries + queries.square().mean(2).sum(0)
        self._keys = self._keys + keys.sum(0)
        self._squares = self._squares + keys.square().sum(0)

    def result(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Factors and centres of keys, [kv_heads, head_dim] each."""
        centres = self._keys / self._count
        queries = _no_zeros((self._queries / self._count).sqrt())
        spread = (self._squares / self._count - centres.square()).clamp(min=0)
        factors = (queries / _no_zeros(spread.sqrt())).sqrt()
        factors = factors / factors.square().mean(-1, keepdim=True).sqrt()
        return _rounded(factors), _rounded(centres)


def _no_zeros(sizes: torch.Tensor) -> torch.Tensor:
    most = sizes.amax(-1, keepdim=True)
    return sizes + torch.where(most > 0, _LEAST * most, 1.0)


def _rounded(values: torch.Tensor) -> torch.Tensor:
    return values.to(torch.bfloat16).float()


def balance_keys(
    decoder: Decoder,
    storage: PagedStorage,
    tokenizer: Tokenizer,
    context_length: int,
    is_cancelled: Callable[[], bool],
) -> str:
    """Balance ``storage``, which nobody has used yet, where it keeps INT4 on one device.

    Takes two short passes of a decoder of our own; for another one nothing is done. Returns a word
    that tells one balance from another, for caches that are kept on disk; empty where there is
    none. Raises ForwardInterruptedError.
    """
    if not isinstance(decoder, NativeDecoder) or storage.geometry.format is not KVFormat.INT4:
        return ""
    places = _places(storage)
    if not places:
        return ""
    config = decoder.config
    sums = [_Sums() for _ in range(config.num_layers)]

    def watch(layer: int, heads: torch.Tensor) -> None:
        heads = heads.float()
        shape = (heads.shape[0], config.num_kv_heads, -1, config.head_dim)
        queries = heads[:, : config.num_heads].reshape(shape)
        sums[layer].add(queries, heads[:, config.num_heads :])

    span = min(context_length, _SPAN)
    decoder.reserve(span)
    pieces = _pieces(tokenizer, span)
    half = len(pieces) // 2
    for some in (pieces[:half], pieces[half:]):
        pool = PagedStorage(_pool_of(config, len(some)), storage.device)
        decoder.forward(_batch_of(some, storage.device), pool, is_cancelled, watch)
    digest = hashlib.blake2b(digest_size=8)
    for (part, own), found in zip(places, sums, strict=True):
        factors, centres = found.result()
        if config.attention_softcap:  # sees what is added to all scores
            centres = torch.zeros_like(centres)
        part.balance(own, factors, centres)
        for values in (factors, centres):
            digest.update(values.cpu().numpy().tobytes())
    return f"keys balanced by {digest.hexdigest()}"


def _places(storage: PagedStorage) -> list[tuple[QuantizedStorage, int]]:
    """For each layer of the model the storage that keeps it, and its number there."""
    parts = [part for part in storage.parts if isinstance(part, QuantizedStorage)]
    if len(parts) < len(storage.parts):
        return []
    groups = storage.geometry.groups
    layers = [group.layers for group in groups] or [tuple(range(storage.geometry.num_layers))]
    found = {
        layer: (part, own)
        for part, some in zip(parts, layers, strict=True)
        for own, layer in enumerate(some)
    }
    return [found[layer] for layer in sorted(found)]


def _pieces(tokenizer: Tokenizer, span: int) -> list[tuple[list[int], int]]:
    """Tokens, and the position of the first of them."""
    texts = [tokenizer.encode_prompt(text) for text in calibration_texts()]
    room = max(0, span - _LENGTH)
    pieces = []
    for i in range(_PIECES):
        start = _LENGTH * (i // len(texts))
        ids = texts[i % len(texts)][start : start + _LENGTH]
        pieces.append((ids[:span], int(room * (i * _GOLDEN % 1))))
    return pieces


def _pool_of(config: ModelConfig, num_blocks: int) -> KVGeometry:
    return KVGeometry(
        num_layers=config.num_layers,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        block_size=_LENGTH,
        num_blocks=num_blocks,
        format=KVFormat.FLOAT32,
    )


def _batch_of(pieces: Sequence[tuple[list[int], int]], device: torch.device) -> ForwardBatch:
    """Each piece a request of its own that begins late."""
    segments = []
    ids: list[int] = []
    positions: list[int] = []
    slots: list[int] = []
    for block, (piece, first) in enumerate(pieces):
        segments.append(Segment(len(ids), len(piece), 0, (block,)))
        ids.extend(piece)
        positions.extend(range(first, first + len(piece)))
        slots.extend(range(block * _LENGTH, block * _LENGTH + len(piece)))
    return ForwardBatch(
        token_ids=torch.tensor(ids, device=device),
        positions=torch.tensor(positions, device=device),
        slots=torch.tensor(slots, device=device),
        segments=tuple(segments),
        logit_rows=torch.empty(0, dtype=torch.int64, device=device),
    )
