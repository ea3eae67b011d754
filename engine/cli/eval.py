"""``python -m engine eval``: how good the chosen weights are, in figures.

Perplexity over two built-in passages in the public domain (the opening of "Alice's Adventures in
Wonderland", 1865, and the first half of "The Peach Blossom Spring", about 421), and agreement
with the same model in full precision, token by token. Loads the model twice.
"""

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path

import torch

from engine.api import ModelOptions, Precision
from engine.cli.arguments import model_options
from engine.cli.terminal import LoadLine, StopOnInterrupt
from engine.errors import EngineError, InvalidRequestError, ModelMissingError, OutOfMemoryError
from engine.model.batch import ForwardBatch, ForwardInterruptedError, Segment
from engine.model.loader import LoadedModel, load_model

PASSAGES = Path(__file__).resolve().parents[2] / "resources" / "passages"
_CONTEXT = 512
_CHUNK = 32  # rows of logits at a time
_MAX_TEXT_BYTES = 1 << 20
_INTERRUPTED = 130


def run_eval(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises EngineError."""
    texts = _texts(options.text)
    wanted = replace(model_options(options), max_streams=1, kv_budget_bytes=None)
    wanted = replace(wanted, context_length=options.context or _CONTEXT)
    with StopOnInterrupt() as interrupt:
        try:
            model = _load(wanted, interrupt)
            exact = _load_exact(wanted, model, interrupt)
            result = _evaluate(model, exact, texts, interrupt)
        except ForwardInterruptedError:
            return _INTERRUPTED
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name.replace('_', ' ')}: {_shown(value)}")
    return 0


def _texts(path: str | None) -> list[str]:
    if path is None:
        return [file.read_text("utf-8") for file in sorted(PASSAGES.glob("*.txt"))]
    file = Path(path)
    try:
        if file.stat().st_size > _MAX_TEXT_BYTES:
            raise InvalidRequestError(
                f"{file.name} is longer than 1 MB; choose a shorter text.", reason="text too long"
            )
        return [file.read_text("utf-8")]
    except (OSError, UnicodeDecodeError) as error:
        raise ModelMissingError(f"The text at {path} cannot be read.", path=path) from error


def _load(wanted: ModelOptions, interrupt: StopOnInterrupt) -> LoadedModel:
    progress = LoadLine()
    try:
        return load_model(wanted, progress, interrupt.is_stopped)
    except InvalidRequestError:
        if wanted.context_length == _CONTEXT:  # trained on less than that
            return load_model(replace(wanted, context_length=None), progress, interrupt.is_stopped)
        raise
    finally:
        progress.clear()


def _load_exact(
    wanted: ModelOptions, model: LoadedModel, interrupt: StopOnInterrupt
) -> LoadedModel | None:
    """The same model in FP32; None, with a word about it, if that does not fit."""
    if model.info.precision is Precision.FP32:
        return model
    exact = replace(wanted, weights=Precision.FP32, context_length=model.info.context_length)
    try:
        return _load(exact, interrupt)
    except OutOfMemoryError as error:
        print(f"No comparison with full precision: {error}", file=sys.stderr)
        return None


def _evaluate(
    model: LoadedModel,
    exact: LoadedModel | None,
    texts: list[str],
    interrupt: StopOnInterrupt,
) -> dict[str, object]:
    """Perplexity, tokens, top1_agreement, mean_kl (nats) and precision, over all texts."""
    loss, divergence, agreeing, predicted = 0.0, 0.0, 0, 0
    for text in texts:
        ids = model.tokenizer.encode_prompt(text)[: model.info.context_length]
        for start in range(0, len(ids) - 1, _CHUNK):
            found = _log_probabilities(model, ids, start, interrupt)
            targets = torch.tensor(ids[start + 1 : start + _CHUNK + 1], device=found.device)
            loss -= float(found[: len(targets)].gather(1, targets.unsqueeze(1)).double().sum())
            predicted += len(targets)
            if exact is not None:
                truth = _log_probabilities(exact, ids, start, interrupt)[: len(targets)]
                found = found[: len(targets)].to(truth.device)
                divergence += float((truth.exp() * (truth - found)).double().sum())
                agreeing += int((truth.argmax(-1) == found.argmax(-1)).sum())
    if not predicted:
        raise InvalidRequestError(
            "The text has fewer than two tokens; choose a longer one.", reason="text too short"
        )
    return {
        "perplexity": float(torch.tensor(loss / predicted, dtype=torch.float64).exp()),
        "tokens": predicted,
        "top1_agreement": None if exact is None else agreeing / predicted,
        "mean_kl": None if exact is None else divergence / predicted,
        "precision": model.info.precision.value,
    }


def _log_probabilities(
    model: LoadedModel, ids: list[int], start: int, interrupt: StopOnInterrupt
) -> torch.Tensor:
    """Log-probabilities [n, vocab] after each of up to _CHUNK tokens from ``start`` on.

    The tokens before ``start`` must have been computed: they are read from the cache.
    """
    device = model.storage.device
    part = torch.tensor(ids[start : start + _CHUNK], device=device)
    end = start + len(part)
    blocks = tuple(range(-(-end // model.config.kv.block_size)))
    places = torch.arange(start, end, device=device)  # blocks in order: position is slot
    batch = ForwardBatch(
        token_ids=part,
        positions=places,
        slots=places,
        segments=(Segment(0, len(part), start, blocks),),
        logit_rows=torch.arange(len(part), device=device),
    )
    logits = model.decoder.forward(batch, model.storage, interrupt.is_stopped)
    if not bool(torch.isfinite(logits).all()):
        raise EngineError("The model computes values that are not numbers; choose another one.")
    return logits.log_softmax(-1)


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
