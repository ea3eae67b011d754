"""How large a compressed cache is: entries that stand for several tokens, and a recent past.

DeepSeek-V4 keeps an entry for each 4 tokens (CSA, with a key for its indexer) or for each 128 (HCA)
in place of a key and a value for each token. Entries lie in the blocks of the pool; what is still
needed token by token (a window of keys, and the tokens of groups that are not complete) is one
fixed-size state a request. Plain numbers, no torch.

::

    a block of 128 tokens, in each CSA layer   32 entries, 32 indexer keys
                           in each HCA layer   1 entry
    a state, in each layer                     the last `window` keys, K and V in one
             in each CSA layer                 projections of the last 2 x 4 tokens
             in each HCA layer                 projections of the last 128 tokens
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from typing_extensions import override

from engine.config import KVFormat, KVGeometry


class EntryForm(StrEnum):
    """How an entry is kept: as the cache keeps any vector, or in FP8, each value by itself."""

    FP32 = "float32"
    BF16 = "bfloat16"
    FP16 = "float16"
    FP8 = "float8_e4m3fn"
    INT8 = "int8"
    INT4 = "int4"

    @property
    def vector_format(self) -> KVFormat | None:
        """The format of other caches that this is; None for FP8."""
        return None if self is EntryForm.FP8 else KVFormat(self.value)

    def entry_bytes(self, width: int) -> int:
        """Bytes of an entry of ``width`` values, its scales included."""
        kept = self.vector_format
        return width if kept is None else kept.vector_bytes(width)

    def can_keep(self, width: int) -> bool:
        """Whether entries of this width divide into the form's units."""
        kept = self.vector_format
        return kept is None or kept.can_keep(width)


@dataclass(frozen=True, slots=True)
class Compression:
    """What the layers of a model keep.

    ``csa_layers``, ``hca_layers``: how many compress by ``csa_stride`` and ``hca_stride`` tokens;
    the other layers see the window alone. ``window``: tokens every layer sees as they are, the
    token's own included. In a CSA layer ``index_heads`` heads score the indexer's keys, each
    ``index_dim`` values, and ``index_top`` entries are attended to.
    """

    csa_layers: int
    hca_layers: int
    csa_stride: int
    hca_stride: int
    index_dim: int
    index_heads: int
    index_top: int
    window: int

    @property
    def block_size(self) -> int:
        """Tokens after which every layer has whole entries only."""
        return math.lcm(self.csa_stride, self.hca_stride)


@dataclass(frozen=True, slots=True, kw_only=True)
class CompressedGeometry(KVGeometry):
    """Size of a compressed cache; ``format``, a floating one, is of what is kept token by token.

    ``form`` is of the entries. ``block_size`` is a multiple of both strides. The pool is ``num_blocks`` blocks; the states of
    the requests come on top as they are needed, ``state_bytes`` each.
    """

    compression: Compression
    form: EntryForm

    @property
    @override
    def bytes_per_token(self) -> int:
        """Bytes of entries that one token adds, rounded up: blocks grow by whole entries."""
        return -(-self.bytes_per_block // self.block_size)

    @property
    @override
    def bytes_per_block(self) -> int:
        shape = self.compression
        entry, key = (self.form.entry_bytes(w) for w in (self.head_dim, shape.index_dim))
        csa = shape.csa_layers * (self.block_size // shape.csa_stride) * (entry + key)
        hca = shape.hca_layers * (self.block_size // shape.hca_stride) * entry
        # a model with windows alone needs blocks only to be counted
        return max(1, csa + hca)

    @property
    @override
    def total_bytes(self) -> int:
        return self.bytes_per_block * self.num_blocks

    @property
    def ring_bytes(self) -> int:
        """Bytes of one request's window in all layers."""
        rows = self.num_layers * self.compression.window
        return rows * self.format.vector_bytes(self.head_dim)

    @property
    def pending_bytes(self) -> int:
        """Bytes of one request's incomplete groups in all layers."""
        shape = self.compression
        csa = shape.csa_layers * 2 * shape.csa_stride * self.csa_width
        hca = shape.hca_layers * shape.hca_stride * self.hca_width
        return self.format.vector_bytes(csa + hca)

    @property
    def state_bytes(self) -> int:
        """Bytes of one request that do not grow with its context."""
        return self.ring_bytes + self.pending_bytes

    @property
    def csa_width(self) -> int:
        """Values a CSA layer keeps of a pending token: two kinds of values and gates, twice."""
        return 4 * self.head_dim + 4 * self.compression.index_dim

    @property
    def hca_width(self) -> int:
        """Values an HCA layer keeps of a pending token: a value and a gate a channel."""
        return 2 * self.head_dim
