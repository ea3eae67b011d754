"""What the table of precisions shows, as plain records and their words."""

from dataclasses import dataclass

from engine.api import Fit
from ui.i18n import tr
from ui.widgets.about_time import about_time
from ui.widgets.fit import fit_words
from ui.widgets.units import bytes_quantity


@dataclass(frozen=True, slots=True)
class LossFigures:
    """What was measured, over ``tokens`` tokens; None where full precision did not fit beside it.

    ``reference_perplexity`` is that of full precision.
    """

    perplexity: float
    tokens: int
    top1_agreement: float | None = None
    mean_kl: float | None = None
    reference_perplexity: float | None = None
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class PrecisionLine:
    """One way of keeping the weights.

    ``key`` is the setting's value, ``name`` how it is written. ``num_bytes`` and the speed are
    estimates. ``is_reference``: the others are compared with it. ``making_s``: what has to be
    made first takes about that long, once. ``is_automatic``: it is what "Automatic" takes now.
    """

    key: str
    name: str
    num_bytes: int
    fit: Fit
    decode_tokens_per_s: float | None = None
    loss: LossFigures | None = None
    is_reference: bool = False
    is_recommended: bool = False
    is_automatic: bool = False
    making_s: float | None = None


@dataclass(frozen=True, slots=True)
class MeasuringState:
    """What there is to measure, or how far that is.

    ``seconds``: what measuring would take, about; None where there is nothing to measure.
    ``name``: what is being measured now, number ``number`` of ``count``.
    """

    seconds: float | None = None
    is_again: bool = False
    name: str = ""
    number: int = 0
    count: int = 0
    part: float = 0.0
    problem: str = ""

    @property
    def is_running(self) -> bool:
        """Whether it goes on now."""
        return bool(self.name)


def memory_words(line: PrecisionLine) -> str:
    """What it takes."""
    return tr("~{size}", size=str(bytes_quantity(line.num_bytes)))


def speed_words(line: PrecisionLine) -> str:
    """How fast it would answer; empty where that is not known."""
    if line.decode_tokens_per_s is None:
        return ""
    rate = line.decode_tokens_per_s
    # a prediction has no decimals to show, unless there is little before the point
    number = f"{rate:,.0f}" if rate >= 10 else f"{rate:.1f}"
    return tr("~{n} tokens/s at full context", n=number)


def loss_words(line: PrecisionLine) -> tuple[str, ...]:
    """What it costs in quality, a few words each."""
    if line.is_reference:
        return (tr("Exact"),)
    if line.loss is None:
        return (tr("Loss not measured"),)
    if line.loss.top1_agreement is None or line.loss.mean_kl is None:
        return (tr("Perplexity {n}", n=f"{line.loss.perplexity:.1f}"),)
    agreement, divergence = _percent(line.loss.top1_agreement), _small(line.loss.mean_kl)
    return tr("{part} same token", part=agreement), f"KL {divergence}"


def loss_explained(line: PrecisionLine) -> str:
    """What was measured, in sentences."""
    if line.is_reference:
        return tr("The others are compared with it.")
    if (loss := line.loss) is None:
        return tr("It has not been measured yet with this model.")
    if loss.top1_agreement is None or loss.mean_kl is None or loss.reference_perplexity is None:
        return tr(
            "Measured on this model over {n} tokens: perplexity {perplexity}. There was no room "
            "for FP32 beside it to compare with.",
            n=f"{loss.tokens:,}",
            perplexity=f"{loss.perplexity:.2f}",
        )
    return tr(
        "Measured on this model over {n} tokens: {part} of the likeliest next tokens are those of "
        "FP32; KL divergence {kl} nats; perplexity {perplexity}, with FP32 {reference}.",
        n=f"{loss.tokens:,}",
        part=_percent(loss.top1_agreement),
        kl=_small(loss.mean_kl),
        perplexity=f"{loss.perplexity:.2f}",
        reference=f"{loss.reference_perplexity:.2f}",
    )


def making_words(line: PrecisionLine) -> str:
    """What has to be made first; empty where nothing has."""
    if line.making_s is None:
        return ""
    return tr("Made first, {time}, once", time=about_time(line.making_s))


def remarks(line: PrecisionLine) -> list[tuple[str, str]]:
    """What follows the verdict: look and words of the speed, the loss and what stands out."""
    plain = (speed_words(line), *loss_words(line))
    return [*(("small", words) for words in plain if words), *tags(line)]


def tags(line: PrecisionLine) -> list[tuple[str, str]]:
    """Look and words of what stands out."""
    found = []
    if line.is_recommended:
        found.append(("accent-small", tr("Recommended")))
    if line.loss is not None and line.loss.is_bad:
        found.append(("danger-small", tr("Loses noticeably")))
    if line.is_automatic:
        found.append(("small", tr("Automatic")))
    if words := making_words(line):
        found.append(("small", words))
    return found


def spoken(line: PrecisionLine) -> str:
    """The whole line for a screen reader."""
    parts = [
        line.name,
        memory_words(line),
        fit_words(line.fit),
        speed_words(line),
        *loss_words(line),
        *(words for _, words in tags(line)),
    ]
    return tr(", ").join(part for part in parts if part)


def _percent(part: float) -> str:
    # 99.96% is not all of them
    return f"{min(part, 0.999):.1%}" if part < 1 else "100%"


def _small(value: float) -> str:
    return f"{value:.4f}" if value < 0.001 else f"{value:.3f}" if value < 0.1 else f"{value:.2f}"
