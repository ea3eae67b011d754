"""What a pass of the loaded model spends its time on, layer by layer and part by part."""

from dataclasses import dataclass
from enum import StrEnum


class Part(StrEnum):
    """A part of a pass, in the order in which native code counts them (tt_part in core.h).

    NORM: norms and the additions before them. QKV, OUTPUT, FFN: the products and what is done to
    their results. ROTARY: rotation, and K and V written to the cache. OTHER: everything else.
    """

    NORM = "norm"
    QKV = "qkv"
    ROTARY = "rotary"
    ATTENTION = "attention"
    OUTPUT = "output"
    FFN = "ffn"
    EMBED = "embed"
    HEAD = "head"
    SAMPLING = "sampling"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class LayerTime:
    """What one part of one layer took. ``layer`` None: outside the layers."""

    layer: int | None
    part: Part
    nanoseconds: int


@dataclass(frozen=True, slots=True)
class PassProfile:
    """Where the time of two kinds of passes goes; parts that took none are left out.

    ``decode``: a step of one token with ``context`` tokens behind it, the mean of ``num_steps``.
    ``prefill``: a prompt of ``prompt_tokens``, computed from nothing. A model whose layers cannot
    be looked into has each of them as OTHER.
    """

    context: int
    prompt_tokens: int
    num_steps: int
    decode: tuple[LayerTime, ...]
    prefill: tuple[LayerTime, ...]

    @property
    def decode_ns(self) -> int:
        """A whole decode step."""
        return sum(time.nanoseconds for time in self.decode)

    @property
    def prefill_ns(self) -> int:
        """The whole prompt."""
        return sum(time.nanoseconds for time in self.prefill)


@dataclass(frozen=True, slots=True)
class ProfileModel:
    """Command: look where the loaded model's time goes, while no answer is computed.

    Both lengths are cut to what the model's context holds. ModelProfiled follows.
    """

    ticket: int
    context: int
    prompt_tokens: int


@dataclass(frozen=True, slots=True)
class ModelProfiled:
    """Event: the answer to ProfileModel; ``problem`` (a sentence) where there is no profile."""

    ticket: int
    profile: PassProfile | None
    problem: str = ""
