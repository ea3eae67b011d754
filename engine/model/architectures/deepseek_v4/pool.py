"""Pools the tokens of a group into one entry, by softmax gates in each channel.

HCA groups stand side by side. CSA groups overlap: every token makes two values, one for its own
group's entry and one for the next group's, so that an entry covers twice its stride::

    group            w - 1        w
    tokens         a a a a      b b b b
    entry w     softmax over a's first and b's second values and gates

An entry is normalised and rotated by the position of its group's first token.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from engine.kv.compressed import Entries, RequestStep, Tail
from engine.model.architectures.deepseek_v4.rotary import Rotation, rotate
from engine.model.norm import RMSNorm


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """One kind of entry. ``bias``: float32 [stride, width of the gates], by place in the group.

    ``width``: values of an entry. ``overlaps``: as CSA; the projections then have 2 * ``width``
    values and as many gates, else ``width``.
    """

    kind: Entries
    stride: int
    width: int
    overlaps: bool
    bias: torch.Tensor
    norm: RMSNorm

    @property
    def nbytes(self) -> int:
        """Bytes of the bias and the norm."""
        return self.bias.numel() * self.bias.element_size() + self.norm.nbytes

    @property
    def columns(self) -> int:
        """Projected values and gates of a token."""
        return 2 * self.bias.shape[1]

    def entries(
        self, rows: torch.Tensor, first: int, skip: int, rotation: Rotation
    ) -> torch.Tensor:
        """Pool whole groups: rows [groups * stride, columns] -> entries [groups - skip, width].

        ``first``: the number of the first row's group. The entries of the first ``skip`` groups
        are there already; overlapping ones need what these groups hold for the next.
        """
        groups = rows.reshape(-1, self.stride, rows.shape[1])
        values, gates = groups.float().chunk(2, -1)
        gates = gates + self.bias
        if self.overlaps:
            values, gates = self._overlap(values), self._overlap(gates, float("-inf"))
        values, gates = values[skip:], gates[skip:]
        pooled = (values * gates.softmax(1)).sum(1).to(rows.dtype)
        first += skip
        numbers = torch.arange(first, first + pooled.shape[0], device=rows.device)
        return rotate(self.norm(pooled), rotation.turns(numbers * self.stride))

    def _overlap(self, parts: torch.Tensor, missing: float = 0.0) -> torch.Tensor:
        """Halves [n, stride, 2 * width]: the first of each group beside the second of the next."""
        before, own = parts.chunk(2, -1)
        none = before.new_full((1, *before.shape[1:]), missing)
        return torch.cat((torch.cat((none, before[:-1])), own), 1)


@dataclass(frozen=True, slots=True, eq=False)
class Compressor:
    """The pools of one layer, over the same groups of tokens.

    Their projections of a token lie end to end, as many as ``pools`` ask for.
    """

    tail: Tail
    pools: tuple[Pool, ...]

    @property
    def nbytes(self) -> int:
        """Bytes of all pools."""
        return sum(pool.nbytes for pool in self.pools)

    @property
    def columns(self) -> int:
        """Projected values of a token, all pools'."""
        return sum(pool.columns for pool in self.pools)

    def __call__(
        self, step: RequestStep, layer: int, projected: torch.Tensor, rotation: Rotation
    ) -> None:
        """Write the entries that the step completes, and stage what stays pending.

        ``projected``: [step.length, columns]; ``layer`` counts layers of this kind.
        """
        stride = self.pools[0].stride
        step.stage(self.tail, layer, projected)
        done = step.context // stride
        if step.end // stride == done:
            return
        # overlapping groups look back on the one before
        first = max(0, done - 1) if self.pools[0].overlaps else done
        past = step.tail(self.tail, layer, first * stride)
        whole = step.end // stride * stride
        rows = torch.cat([*past, projected])[: whole - first * stride]
        for pool, part in zip(self.pools, self._split(rows), strict=True):
            step.write(pool.kind, layer, done, pool.entries(part, first, done - first, rotation))

    def _split(self, rows: torch.Tensor) -> Sequence[torch.Tensor]:
        return torch.split(rows, [pool.columns for pool in self.pools], -1)
