"""How somebody would like to run a model, before anything is decided."""

from dataclasses import dataclass

from engine.api import KVPrecision, Precision
from engine.errors import InvalidRequestError

DEFAULT_CONTEXT = 8_192
_MOST_TOKENS = 1 << 28
_MOST_STREAMS = 4_096
_MOST_BYTES = 1 << 60


@dataclass(frozen=True, slots=True)
class Wish:
    """How the model would be run.

    ``kv`` AUTO keeps the cache in the type the decoder computes in, as the engine does.
    ``context`` None is the trained one, up to 8,192 tokens, or fewer where they would not fit;
    each of ``streams`` has that many. ``gpu_budget``: the most bytes weights and cache may take on
    a GPU; None: what is free there.
    """

    weights: Precision = Precision.AUTO
    kv: KVPrecision = KVPrecision.AUTO
    context: int | None = None
    streams: int = 1
    gpu_budget: int | None = None

    def __post_init__(self) -> None:
        """Raise InvalidRequestError for a number out of range."""
        ranges = {
            "context": (self.context, 1, _MOST_TOKENS),
            "streams": (self.streams, 1, _MOST_STREAMS),
            "gpu_budget": (self.gpu_budget, 0, _MOST_BYTES),
        }
        for name, (value, least, most) in ranges.items():
            if value is not None and not least <= value <= most:
                raise InvalidRequestError(
                    f"{name} is {value}; choose from {least} to {most}.",
                    reason=f"{name} must be from {least} to {most}",
                )
