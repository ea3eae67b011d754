"""Rotary position embedding: frequencies, their scaling, and the rotation itself.

The half-split convention: dimension i of a head turns together with dimension i + rotary_dim / 2;
dimensions from rotary_dim on do not turn. Knows nothing about layers or weights.

"dynamic" and "longrope" depend on how long the context may become. That is decided once for a
loaded model, by the longest context a request may have, and not by the length so far. transformers
does it by the length of each forward pass: a prompt of L tokens is rotated for L, each later token
for the length it makes, and keys in the cache keep the rotation they were given, so that the same
text gives other keys when it comes in other pieces. Here a prompt comes in chunks, blocks of keys
are shared between requests with a common beginning, and a request that made room for others is
computed anew: all of them need the keys of a token to depend on nothing but the tokens before it.
llama.cpp decides by the context a sequence was given, for the same reason. Both agree with
transformers wherever that rotates the whole of a request alike: longrope's long factors for prompts
over the original context, its short ones for requests that end within it when the context is chosen
so, and a dynamic scaling for a prompt as long as the context. ``describe_scaling`` says what is used.
"""

import math

import torch

from engine.model.config import RopeScaling


def inverse_frequencies(
    rotary_dim: int, theta: float, scaling: RopeScaling | None = None, context_length: int = 0
) -> torch.Tensor:
    """Radians a position for each rotated pair, float32 [rotary_dim / 2].

    ``context_length``: the most tokens a request may have.
    """
    if scaling is not None and scaling.kind == "dynamic":
        theta *= _dynamic_growth(rotary_dim, scaling, context_length)
    plain = 1.0 / theta ** (torch.arange(0, rotary_dim, 2, dtype=torch.int64).float() / rotary_dim)
    if scaling is None:
        return plain
    match scaling.kind:
        case "dynamic":
            return plain
        case "linear":
            return plain / scaling.factor
        case "llama3":
            return _llama3(plain, scaling)
        case "yarn":
            return _yarn(plain, theta, scaling)
        case "factors" | "longrope":
            return plain / torch.tensor(_divisors(scaling, context_length))


def describe_scaling(scaling: RopeScaling | None, context_length: int) -> str | None:
    """What was decided for contexts of this length, in words; None where nothing had to be."""
    if scaling is None or scaling.kind not in {"dynamic", "longrope"}:
        return None
    original = scaling.original_max_position
    is_long = context_length > original
    if scaling.kind == "longrope":
        return (
            f"rope: long factors, for contexts over {original} tokens"
            if is_long
            else f"rope: short factors, for contexts up to {original} tokens"
        )
    return (
        f"rope: dynamic scaling, stretched to {context_length} tokens"
        if is_long
        else f"rope: dynamic scaling, at rest up to {original} tokens"
    )


def attention_factor(scaling: RopeScaling | None) -> float:
    """What cosines and sines are multiplied by, on q and on k."""
    if scaling is None or scaling.kind not in {"yarn", "longrope"}:
        return 1.0
    if scaling.attention_factor is not None:
        return scaling.attention_factor
    if scaling.factor <= 1.0:
        return 1.0
    growth = math.log(scaling.factor)
    if scaling.kind == "longrope":
        return math.sqrt(1.0 + growth / math.log(scaling.original_max_position))
    if scaling.mscale and scaling.mscale_all_dim:
        return (0.1 * scaling.mscale * growth + 1) / (0.1 * scaling.mscale_all_dim * growth + 1)
    return 0.1 * growth + 1.0


def _dynamic_growth(rotary_dim: int, scaling: RopeScaling, context_length: int) -> float:
    """What theta grows by, so that the slowest pair turns as far as it was trained to."""
    original = scaling.original_max_position
    stretch = scaling.factor * max(context_length, original) / original
    growth: float = (stretch - (scaling.factor - 1)) ** (rotary_dim / max(1, rotary_dim - 2))
    return growth


def _divisors(scaling: RopeScaling, context_length: int) -> tuple[float, ...]:
    if scaling.kind == "factors":
        return scaling.freq_factors
    is_long = context_length > scaling.original_max_position
    return scaling.long_factors if is_long else scaling.short_factors


def _llama3(plain: torch.Tensor, scaling: RopeScaling) -> torch.Tensor:
    """Divide slow frequencies by the factor, keep fast ones, and blend linearly in between.

    Slow and fast are told by the number of turns within the original context.
    """
    turns = scaling.original_max_position * plain / (2 * math.pi)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    kept = ((turns - low) / (high - low)).clamp(0.0, 1.0)
    return plain * kept + (plain / scaling.factor) * (1.0 - kept)


def _yarn(plain: torch.Tensor, theta: float, scaling: RopeScaling) -> torch.Tensor:
    """The same idea blended over the pairs' indices, between two numbers of turns."""
    num_pairs = plain.shape[0]

    def pair_of(turns: float) -> float:
        """The index, not whole, of the pair that makes so many turns in the original context."""
        ratio = scaling.original_max_position / (turns * 2 * math.pi)
        return num_pairs * math.log(ratio) / math.log(theta)

    first, last = pair_of(scaling.beta_fast), pair_of(scaling.beta_slow)
    if scaling.truncate:
        first, last = math.floor(first), math.ceil(last)
    first, last = max(first, 0), min(last, 2 * num_pairs - 1)
    width = last - first or 0.001
    divided = ((torch.arange(num_pairs) - first) / width).clamp(0.0, 1.0)
    return plain / scaling.factor * divided + plain * (1.0 - divided)


class RotaryTable:
    """Cosines and sines of every position, computed once and grown when a context asks for more.

    One step asks for ``rows`` of its positions; every layer then rotates in place with them.
    """

    def __init__(
        self,
        frequencies: torch.Tensor,
        dtype: torch.dtype,
        device: torch.device,
        head_dim: int = 0,
        factor: float = 1.0,
    ) -> None:
        """Keep ``frequencies`` (float32 [rotary_dim / 2], radians a position).

        ``head_dim`` (0: as many dimensions as rotate) counts those that do not rotate as well;
        ``factor`` multiplies the ones that do.
        """
        self._frequencies = frequencies
        self._factor = factor
        self._half = frequencies.shape[0]
        self._unrotated = max(0, head_dim - 2 * self._half)
        width = 2 * self._half + self._unrotated
        self._cosines = torch.empty(0, width, dtype=dtype, device=device)
        self._sines = self._cosines
        self._halves = self._make_halves()

    @property
    def num_positions(self) -> int:
        """Positions tabulated so far."""
        return self._cosines.shape[0]

    @property
    def halves(self) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines of the reserved positions, [num_positions, rotated pairs]: views."""
        return self._halves

    def reserve(self, num_positions: int) -> None:
        """Tabulate at least positions [0, num_positions)."""
        if num_positions <= self.num_positions:
            return
        count = max(num_positions, 2 * self.num_positions, 1024)
        positions = torch.arange(count, dtype=torch.float32)
        angles = torch.outer(positions, self._frequencies)
        cosines, sines = angles.cos() * self._factor, angles.sin() * self._factor
        still = torch.zeros(count, self._unrotated)
        # The first half carries the minus of the rotation, so that rotating is a roll and no cat.
        self._sines = torch.cat((-sines, sines, still), -1).to(self._cosines)
        self._cosines = torch.cat((cosines, cosines, still + 1.0), -1).to(self._cosines)
        self._halves = self._make_halves()

    def _make_halves(self) -> tuple[torch.Tensor, torch.Tensor]:
        half = self._half
        return self._cosines[:, :half], self._sines[:, half : 2 * half]

    def rows(
        self, positions: torch.Tensor, head_scales: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Cosines and sines for reserved ``positions`` (int64 [T]), each [T, heads, head_dim].

        ``head_scales`` [heads, 1] multiplies each head: the attention scale of the queries enters
        here, once a step, and costs nothing in the layers.
        """
        cosines = self._cosines.index_select(0, positions).unsqueeze(1)
        sines = self._sines.index_select(0, positions).unsqueeze(1)
        return cosines * head_scales, sines * head_scales

    def rotate_(
        self, heads: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor
    ) -> torch.Tensor:
        """Rotate ``heads`` [T, heads, head_dim] in place by the rows of this step."""
        if self._unrotated:
            first, second, still = torch.split(
                heads, [self._half, self._half, self._unrotated], -1
            )
            swapped = torch.cat((second, first, still), -1)
        else:
            swapped = heads.roll(self._half, -1)
        return heads.mul_(cosines).addcmul_(swapped, sines)
