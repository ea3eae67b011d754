"""``python -m engine eval``: how good the chosen weights are, in figures.

Perplexity over two built-in passages in the public domain (the opening of "Alice's Adventures in
Wonderland", 1865, and the first half of "The Peach Blossom Spring", about 421), and agreement
with the same model in full precision, token by token. Loads the model twice.

The keys of its JSON object: ``perplexity``, ``tokens`` (predicted), ``top1_agreement`` (0 to 1),
``mean_kl`` (nats), ``precision`` (of the products), ``weights`` (as resolved: one of --weights
but auto), ``weights_bytes``, ``reference_perplexity`` and ``reference_bytes``; null where full
precision did not fit; ``kv``, how the cache was kept, and ``kv_bytes_per_token`` there. The
reference computes in FP32 with the values the file holds; both keep their cache in FP32, so that
the weights alone make the difference, unless ``--kv`` asks what another cache costs. NF4 is
bitsandbytes' own rounding, on the CPU, multiplied in FP32: its quality without a graphics card; its bytes are those
of the weights so packed, of the embedding and norms in 16 bits.
"""

import argparse
import json
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from engine.api import Device, KVPrecision, LoadProgress, ModelOptions, Precision
from engine.cli.agreement import Quality, measure_quality
from engine.cli.arguments import CALIBRATED, NF4, model_options
from engine.cli.nf4 import rounded_to_nf4
from engine.cli.progress import ProgressLines
from engine.cli.terminal import LoadLine, StopOnInterrupt
from engine.errors import (
    InvalidRequestError,
    LoadCancelledError,
    ModelMissingError,
    OutOfMemoryError,
)
from engine.model.batch import ForwardInterruptedError
from engine.model.loader import LoadedModel, load_model

PASSAGES = Path(__file__).resolve().parents[2] / "resources" / "passages"
_CONTEXT = 512
_MAX_TEXT_BYTES = 1 << 20
_INTERRUPTED = 130


def run_eval(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises EngineError."""
    texts = _texts(options.text)
    lines = ProgressLines(is_shown=options.progress)
    with StopOnInterrupt(signal.SIGTERM) as interrupt:
        evaluation = _Evaluation(options, lines, interrupt)
        try:
            result = evaluation.run(texts)
        except (ForwardInterruptedError, LoadCancelledError):
            return _INTERRUPTED
    if options.json:
        print(json.dumps(result))
    else:
        for name, value in result.items():
            print(f"{name.replace('_', ' ')}: {_shown(value)}")
        if options.weights == NF4:
            print("NF4 as bitsandbytes rounds it on the CPU, multiplied in FP32")
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


class _Evaluation:
    """One model, loaded as asked for and in full precision, over some texts."""

    def __init__(
        self, options: argparse.Namespace, lines: ProgressLines, interrupt: StopOnInterrupt
    ) -> None:
        wanted = replace(model_options(options), max_streams=1)
        if wanted.kv is KVPrecision.AUTO:  # in full, so that the weights alone make a difference
            wanted = replace(wanted, kv=KVPrecision.FP32)
        self._wanted = replace(wanted, context_length=options.context or _CONTEXT)
        self._is_nf4 = options.weights == NF4
        if self._is_nf4:
            self._wanted = replace(self._wanted, device=Device.CPU)
        self._lines = lines
        self._is_stopped = interrupt.is_stopped

    def run(self, texts: list[str]) -> dict[str, object]:
        """Load, measure; the JSON object."""
        self._lines.begin_load()
        model, num_bytes = self._load_wanted()
        self._lines.begin_reference()
        exact = self._load_exact(model)
        self._lines.begin_measuring()
        quality = measure_quality(model, exact, texts, self._lines.on_tokens, self._is_stopped)
        self._lines.finish()
        return self._report(quality, model, num_bytes, exact)

    def _load_wanted(self) -> tuple[LoadedModel, int]:
        """The model, and the bytes of its weights."""
        model = self._load(self._wanted)
        if self._is_nf4:
            return rounded_to_nf4(model, self._is_stopped)
        return model, model.info.weights_bytes

    def _load(self, wanted: ModelOptions) -> LoadedModel:
        line = LoadLine()

        def report(progress: LoadProgress) -> None:
            line(progress)
            self._lines.on_load(progress)

        try:
            return _load_within(wanted, report, self._is_stopped)
        finally:
            line.clear()

    def _load_exact(self, model: LoadedModel) -> LoadedModel | None:
        """The same model in FP32; None, with a word about it, if that does not fit."""
        is_exact = model.info.precision is Precision.FP32 and not self._is_nf4
        if is_exact and self._wanted.kv is KVPrecision.FP32:
            return model
        exact = replace(
            self._wanted,
            weights=Precision.FP32,
            kv=KVPrecision.FP32,
            context_length=model.info.context_length,
            calibrated=False,
        )
        try:
            return self._load(exact)
        except OutOfMemoryError as error:
            print(f"No comparison with full precision: {error}", file=sys.stderr)
            return None

    def _report(
        self, quality: Quality, model: LoadedModel, num_bytes: int, exact: LoadedModel | None
    ) -> dict[str, object]:
        weights = CALIBRATED if model.info.is_calibrated else model.info.precision.value
        return {
            "perplexity": quality.perplexity,
            "tokens": quality.num_tokens,
            "top1_agreement": quality.top1_agreement,
            "mean_kl": quality.mean_kl,
            "precision": model.info.precision.value,
            "kv": model.info.kv_dtype,
            "kv_bytes_per_token": model.info.kv_bytes_per_token,
            "weights": NF4 if self._is_nf4 else weights,
            "weights_bytes": num_bytes,
            "reference_perplexity": quality.reference_perplexity,
            "reference_bytes": None if exact is None else exact.info.weights_bytes,
        }


def _load_within(
    wanted: ModelOptions,
    report: Callable[[LoadProgress], None],
    is_stopped: Callable[[], bool],
) -> LoadedModel:
    try:
        return load_model(wanted, report, is_stopped)
    except InvalidRequestError:
        if wanted.context_length == _CONTEXT:  # trained on less than that
            return load_model(replace(wanted, context_length=None), report, is_stopped)
        raise


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    return f"{value:.5g}" if isinstance(value, float) else str(value)
