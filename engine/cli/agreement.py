"""How well a model predicts a text, and how far it agrees with the same model in full precision.

Perplexity, and for each token whether the likeliest next one is the same and how far apart the
distributions are. Knows loaded models; neither files nor the command line.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from engine.errors import EngineError, InvalidRequestError
from engine.kv.group import lone_tables
from engine.model.batch import ForwardBatch, Segment
from engine.model.loader import LoadedModel

_CHUNK = 32  # rows of logits at a time


@dataclass(frozen=True, slots=True)
class Quality:
    """What was measured over ``num_tokens`` predictions.

    ``top1_agreement``: part of them where both models' likeliest token is the same; ``mean_kl``:
    nats that the model is away from the exact one. None where there was none to compare with.
    """

    perplexity: float
    num_tokens: int
    reference_perplexity: float | None = None
    top1_agreement: float | None = None
    mean_kl: float | None = None


def measure_quality(
    model: LoadedModel,
    exact: LoadedModel | None,
    texts: Sequence[str],
    on_progress: Callable[[int, int], None],
    is_stopped: Callable[[], bool],
) -> Quality:
    """Read the beginning of each text, as far as the context goes.

    ``exact``: the same model in full precision, which may be ``model`` itself.
    ``on_progress(done, total)`` counts tokens. Raises InvalidRequestError (nothing to predict),
    EngineError (values that are not numbers) or ForwardInterruptedError.
    """
    prompts = [model.tokenizer.encode_prompt(text)[: model.info.context_length] for text in texts]
    total = sum(len(ids) for ids in prompts)
    tally = _Tally()
    done = 0
    for ids in prompts:
        for start in range(0, len(ids) - 1, _CHUNK):
            found = _log_probabilities(model, ids, start, is_stopped)
            truth = found if exact is model else None
            if exact is not None and truth is None:
                truth = _log_probabilities(exact, ids, start, is_stopped)
            tally.add(found, ids[start + 1 : start + _CHUNK + 1], truth)
            on_progress(done + min(start + _CHUNK, len(ids)), total)
        done += len(ids)
    return tally.result(is_compared=exact is not None)


class _Tally:
    """Sums over predictions."""

    def __init__(self) -> None:
        self._loss = 0.0
        self._reference_loss = 0.0
        self._divergence = 0.0
        self._agreeing = 0
        self._count = 0

    def add(
        self, found: torch.Tensor, targets: list[int], truth: torch.Tensor | None = None
    ) -> None:
        """Log-probabilities [n, vocab], of which the first rows predict ``targets``."""
        found = found[: len(targets)]
        self._loss += _loss(found, targets)
        self._count += len(targets)
        if truth is None:
            return
        truth = truth[: len(targets)].to(found.device)
        self._reference_loss += _loss(truth, targets)
        self._divergence += float((truth.exp() * (truth - found)).double().sum())
        self._agreeing += int((truth.argmax(-1) == found.argmax(-1)).sum())

    def result(self, *, is_compared: bool) -> Quality:
        """The means. Raises InvalidRequestError where there was nothing to predict."""
        count = self._count
        if not count:
            raise InvalidRequestError(
                "The text has fewer than two tokens; choose a longer one.", reason="text too short"
            )
        if not is_compared:
            return Quality(_perplexity(self._loss, count), count)
        return Quality(
            perplexity=_perplexity(self._loss, count),
            num_tokens=count,
            reference_perplexity=_perplexity(self._reference_loss, count),
            top1_agreement=self._agreeing / count,
            mean_kl=self._divergence / count,
        )


def _loss(found: torch.Tensor, targets: list[int]) -> float:
    """Nats that the rows of ``found`` [n, vocab] lose on the tokens that did follow."""
    index = torch.tensor(targets, device=found.device).unsqueeze(1)
    return -float(found.gather(1, index).double().sum())


def _perplexity(loss: float, count: int) -> float:
    return float(torch.tensor(loss / count, dtype=torch.float64).exp())


def _log_probabilities(
    model: LoadedModel, ids: list[int], start: int, is_stopped: Callable[[], bool]
) -> torch.Tensor:
    """Log-probabilities [n, vocab] after each of up to _CHUNK tokens from ``start`` on.

    The tokens before ``start`` must have been computed: they are read from the cache.
    """
    device = model.storage.device
    part = torch.tensor(ids[start : start + _CHUNK], device=device)
    end = start + len(part)
    geometry = model.config.kv
    tables = lone_tables(geometry, end)
    slots = [
        torch.tensor(
            [
                table[at // geometry.block_size] * geometry.block_size + at % geometry.block_size
                for at in range(start, end)
            ],
            device=device,
        )
        for table in tables
    ]
    batch = ForwardBatch(
        token_ids=part,
        positions=torch.arange(start, end, device=device),
        slots=slots[0],
        segments=(Segment(0, len(part), start, tables[0], tuple(tables[1:])),),
        logit_rows=torch.arange(len(part), device=device),
        window_slots=tuple(slots[1:]),
    )
    logits = model.decoder.forward(batch, model.storage, is_stopped)
    if not bool(torch.isfinite(logits).all()):
        raise EngineError("The model computes values that are not numbers; choose another one.")
    return logits.log_softmax(-1)
