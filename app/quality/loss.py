"""What was measured of one model at one precision, and the file in which it is kept.

A model is known by its files' names, sizes and times of change, so that a copy elsewhere keeps its
figures and another file of the same name gets none of them.
"""

import hashlib
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.catalog.scan import look_at
from app.settings.file import read_values, write_values

_MODELS = "models"
_BAD_AGREEMENT = 0.90
_PRINTED = ("perplexity", "tokens", "top1_agreement", "mean_kl", "reference_perplexity")


@dataclass(frozen=True, slots=True)
class Loss:
    """One measurement, over ``tokens`` tokens of text.

    ``top1_agreement``: part of the tokens where the likeliest next one is the same as in full
    precision; ``mean_kl`` in nats; ``reference_perplexity`` that of full precision. All three are
    None where full precision did not fit beside it. ``seconds`` is what the measurement took.
    """

    perplexity: float
    tokens: int
    top1_agreement: float | None
    mean_kl: float | None
    reference_perplexity: float | None
    seconds: float
    num_parameters: int

    @property
    def is_bad(self) -> bool:
        """Whether the precision is a bad bargain for this model."""
        return self.top1_agreement is not None and self.top1_agreement < _BAD_AGREEMENT


class LossBook:
    """Measurements by model and weights ("int4", "int4-calibrated", ...). Replaced as a whole."""

    def __init__(self, losses: Mapping[str, Mapping[str, Loss]] | None = None) -> None:
        self._losses = {key: dict(of_model) for key, of_model in (losses or {}).items()}

    def of_model(self, key: str) -> Mapping[str, Loss]:
        """What was measured of a model, by weights."""
        return dict(self._losses.get(key, {}))

    def all(self) -> list[Loss]:
        """Every measurement."""
        return [loss for of_model in self._losses.values() for loss in of_model.values()]

    def add(self, key: str, weights: str, loss: Loss) -> None:
        """Keep a measurement in place of an earlier one."""
        self._losses.setdefault(key, {})[weights] = loss

    def copy(self) -> "LossBook":
        """A book of the same measurements, for another thread."""
        return LossBook(self._losses)

    def write(self, path: Path) -> None:
        """Put all on disk. Raises OSError."""
        models = {
            key: {weights: asdict(loss) for weights, loss in of_model.items()}
            for key, of_model in self._losses.items()
        }
        write_values(path, {_MODELS: models})

    @classmethod
    def read(cls, path: Path) -> "LossBook":
        """What was kept; entries that are not measurements are left out."""
        kept = read_values(path).get(_MODELS)
        book = cls()
        for key, of_model in (kept if isinstance(kept, dict) else {}).items():
            for weights, values in (of_model if isinstance(of_model, dict) else {}).items():
                if (loss := _loss(values)) is not None:
                    book.add(key, weights, loss)
        return book


def model_key(path: str) -> str:
    """What stands for the model at ``path``; an empty string where there is none. Reads no file."""
    found = look_at(Path(path))
    if found is None:
        return ""
    digest = hashlib.sha256()
    for name in sorted(found.files):
        try:
            state = Path(name).stat()
        except OSError:
            return ""
        digest.update(f"{Path(name).name}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
    return digest.hexdigest()[:32]


def loss_of(result: Any, seconds: float, num_parameters: int) -> Loss | None:
    """Read what the engine's evaluation printed; None for anything else."""
    values = result if isinstance(result, dict) else {}
    figures = {name: values.get(name) for name in _PRINTED}
    return _loss({**figures, "seconds": seconds, "num_parameters": num_parameters})


def _loss(values: Any) -> Loss | None:
    try:
        loss = Loss(**values)
    except TypeError:
        return None
    numbers = (loss.perplexity, loss.seconds, loss.tokens, loss.num_parameters)
    maybe = (loss.top1_agreement, loss.mean_kl, loss.reference_perplexity)
    is_sound = all(_is_number(n) for n in numbers) and all(
        n is None or _is_number(n) for n in maybe
    )
    return loss if is_sound else None


def _is_number(value: object) -> bool:
    # a settings file may say true, and JSON as Python reads it may say NaN
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
