"""What a model's header says of it, and what it would take: known before anything is loaded."""

from dataclasses import dataclass
from enum import StrEnum

from engine.api.options import Precision


class Fit(StrEnum):
    """FITS: with a margin to spare. TIGHT: only without it. TOO_LARGE: not at all."""

    FITS = "fits"
    TIGHT = "tight"
    TOO_LARGE = "too_large"


@dataclass(frozen=True, slots=True)
class PrecisionFit:
    """One way of keeping the weights. Bytes are estimates of what is held at most.

    ``largest_context``: tokens that would still fit beside the weights, 0 if none do.
    ``decode_tokens_per_s`` is predicted from this machine's measured ceilings, None where these
    have not been measured. ``cpu_layers`` of the model would run on the CPU beside a GPU.
    """

    precision: Precision
    fit: Fit
    num_bytes: int
    largest_context: int
    decode_tokens_per_s: float | None = None
    cpu_layers: int = 0


@dataclass(frozen=True, slots=True)
class ModelSheet:
    """One model on disk, read by its header alone.

    ``stored``: how the file keeps its layers ("Q4_K, Q6_K", "BF16", "GPTQ"). ``default``: what AUTO
    would choose. ``fits`` has a line for each precision, with the memory that was free then.
    ``calibration_s``: about how long the activation-aware choice of INT4 weights would take here,
    None where it gains nothing or is not possible; ``is_calibrated``: it has been made and kept.
    ``num_heads`` and ``num_kv_heads`` are 0 where the header does not say one figure.
    """

    path: str
    name: str
    architecture: str
    stored: str
    num_layers: int
    num_heads: int
    num_kv_heads: int
    vocab_size: int
    hidden_size: int
    context_length: int
    num_parameters: int
    has_chat_template: bool
    license: str
    default: Precision
    fits: tuple[PrecisionFit, ...]
    calibration_s: float | None = None
    is_calibrated: bool = False

    @property
    def default_fit(self) -> PrecisionFit:
        """The line of the precision that AUTO would choose."""
        return next(line for line in self.fits if line.precision is self.default)


@dataclass(frozen=True, slots=True)
class Foresight:
    """What loading a model with given options would come to, said before it is loaded.

    ``precision`` is not AUTO. ``needed_bytes``: the most that would be held at once, on the GPU
    and the computer together where ``cpu_layers`` of the layers run on the CPU beside a GPU.
    ``available_bytes``: what is free for it, the model about to be replaced given back;
    ``other_programs_bytes``: what other programs and the system hold. ``largest_context``: tokens
    that would fit with a margin to spare, 0 if none do. ``decode_tokens_per_s`` is predicted from
    this machine's measured ceilings, None where these have not been measured. ``reasons`` are
    sentences in English; bytes are estimates.
    """

    precision: Precision
    fit: Fit
    needed_bytes: int
    available_bytes: int
    other_programs_bytes: int
    largest_context: int
    decode_tokens_per_s: float | None
    cpu_layers: int
    reasons: tuple[str, ...]
