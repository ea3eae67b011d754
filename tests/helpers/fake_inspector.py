"""A model that is not there, as an inspector would tell it, and a measuring that a test plays."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from PySide6.QtCore import QObject, Signal

from engine.api import (
    Fit,
    Foresight,
    MachineCeilings,
    ModelOptions,
    ModelSheet,
    Precision,
    PrecisionFit,
)

GIB = 1 << 30
SHEET = ModelSheet(
    path="/m/small.gguf",
    name="Small",
    architecture="llama",
    stored="BF16",
    num_layers=30,
    num_heads=9,
    num_kv_heads=3,
    vocab_size=49_152,
    hidden_size=576,
    context_length=8192,
    num_parameters=134_515_008,
    has_chat_template=True,
    license="apache-2.0",
    default=Precision.INT8,
    fits=(PrecisionFit(Precision.INT8, Fit.FITS, GIB, 8192),),
)
FORESIGHT = Foresight(
    precision=Precision.INT8,
    fit=Fit.FITS,
    needed_bytes=GIB,
    available_bytes=9 * GIB,
    other_programs_bytes=4 * GIB,
    largest_context=8192,
    decode_tokens_per_s=58.1,
    cpu_layers=0,
    reasons=(),
)


def lines(**fits: Fit) -> dict[Precision, Foresight]:
    """The same line for every precision, save what fits otherwise."""
    return {
        precision: replace(
            FORESIGHT, precision=precision, fit=fits.get(precision.value, FORESIGHT.fit)
        )
        for precision in Precision
        if precision is not Precision.AUTO
    }


@dataclass
class FakeInspector:
    """Tells ``model`` of every path; ``asked`` records the options."""

    model: ModelSheet = SHEET
    foresights: Mapping[Precision, Foresight] = field(default_factory=lines)
    gpu: bool = False
    problem: Exception | None = None
    asked: list[ModelOptions] = field(default_factory=list)
    freed: list[int] = field(default_factory=list)
    known_ceilings: MachineCeilings | None = None
    asked_ceilings: list[tuple[int, bool]] = field(default_factory=list)

    def sheet(self, path: str, bytes_to_free: int) -> ModelSheet:
        self.freed.append(bytes_to_free)
        if self.problem is not None:
            raise self.problem
        return replace(self.model, path=path)

    def estimate(self, _parameters: int, precision: Precision, _to_free: int) -> PrecisionFit:
        return PrecisionFit(precision, Fit.FITS, GIB, 0)

    def foresee(self, options: ModelOptions, _bytes_to_free: int) -> Foresight:
        self.asked.append(options)
        return self.foresights[options.weights]

    def check_schema(self, schema: str) -> None:
        pass

    def ceilings(self, threads: int, *, is_cuda: bool) -> MachineCeilings | None:
        self.asked_ceilings.append((threads, is_cuda))
        return self.known_ceilings

    def has_gpu(self) -> bool:
        return self.gpu


class FakeMeasurement(QObject):
    """Starts nothing; a test emits what a program would say."""

    progressed = Signal(float)
    measured = Signal(dict, float)
    failed = Signal(str)

    def __init__(self, _command: list[str], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.started: list[list[str]] = []
        self.is_running = False

    def start(self, arguments: list[str]) -> None:
        self.started.append(list(arguments))
        self.is_running = True

    def finish(self, agreement: float | None = 0.95, seconds: float = 50.0) -> None:
        self.is_running = False
        kl = None if agreement is None else 0.005
        result = {"perplexity": 28.4, "tokens": 992, "top1_agreement": agreement, "mean_kl": kl}
        result["reference_perplexity"] = None if agreement is None else 28.1
        self.measured.emit(result, seconds)

    def fail(self, words: str) -> None:
        self.is_running = False
        self.failed.emit(words)

    def cancel(self) -> None:
        self.is_running = False

    def close(self) -> None:
        self.is_running = False
