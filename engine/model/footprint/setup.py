"""How a model would be run, with everything decided: no "auto" is left."""

from dataclasses import dataclass

from engine.api import KVPrecision, Precision
from engine.model.footprint.weights import Target


@dataclass(frozen=True, slots=True)
class Setup:
    """``precision`` and ``kv`` are not AUTO; ``context`` tokens a stream, ``streams`` of them."""

    precision: Precision
    kv: KVPrecision
    context: int
    streams: int
    target: Target
