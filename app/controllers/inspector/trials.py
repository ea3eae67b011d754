"""What a remedy promised for one figure of an answer, and what that figure is afterwards.

A remedy's gain is of a whole answer, and no two answers are as long: so the stage it works on is
compared, by a rate that does not depend on the length. Pure functions.
"""

from dataclasses import dataclass
from enum import Enum

from app.settings.declared import FIELDS, problem_with
from engine.api import Diagnosis, DiagnosisKind, MissKind, Remedy, Timeline
from ui.i18n import tr
from ui.settings.fields import SettingValue

# fewer tokens tell nothing about a rate
LEAST_DECODED = 9
LEAST_COMPUTED = 16
# with an empty cache there is nothing a cache's setting could have kept
_COLD = frozenset(
    {
        MissKind.FIRST_TURN,
        MissKind.RELOADED,
        MissKind.MODEL_CHANGED,
        MissKind.PRECISION_CHANGED,
    }
)
_REUSING = frozenset({"prefix_cache", "kv_budget_mib", "keep_cache"})
_DECODING = frozenset({"kv", "kv_cache", "draft", "gpu_budget_mib"})
_SLOWED = frozenset({DiagnosisKind.THROTTLED, DiagnosisKind.CONTENDED, DiagnosisKind.STOLEN})


class Measure(Enum):
    """The rate that is compared.

    DECODE: tokens written a second. PREFILL: prompt tokens computed a second. REUSE: prompt tokens
    a second, those from the cache among them. FIRST_TOKEN: first tokens a second, loading apart.
    """

    DECODE = "decode"
    PREFILL = "prefill"
    REUSE = "reuse"
    FIRST_TOKEN = "first_token"  # noqa: S105 - no secret: a token of text


@dataclass(frozen=True, slots=True)
class Trial:
    """A remedy that was applied. ``before``: the setting's value until then.

    ``message_id``: the answer it was proposed for; ``rate`` and ``predicted`` are of ``measure``.
    ``measured_id``: the first answer after it, with its gain; None before that.
    """

    remedy: Remedy
    before: SettingValue
    conversation_id: int
    message_id: int
    measure: Measure
    rate: float | None
    predicted: float
    measured_id: int | None = None
    measured: float | None = None


def can_try(remedy: Remedy) -> bool:
    """Whether a setting does it."""
    field = FIELDS.get(remedy.key)
    return field is not None and remedy.value is not None and not problem_with(field, remedy.value)


def measure_of(diagnosis: Diagnosis, remedy: Remedy, line: Timeline) -> Measure:
    """What a remedy works on."""
    if remedy.key in _REUSING:
        return Measure.REUSE
    if remedy.key == "max_streams":
        return Measure.FIRST_TOKEN
    if remedy.key in _DECODING:
        return Measure.DECODE
    if diagnosis.kind is DiagnosisKind.PREFILL_BOUND:
        return Measure.PREFILL
    is_prompt = diagnosis.kind in _SLOWED and line.prefill_ns > line.decode_ns
    return Measure.PREFILL if is_prompt else Measure.DECODE


def rate_of(measure: Measure, line: Timeline) -> float | None:
    """That rate of one answer; None where the answer does not tell."""
    computed = line.num_prompt_tokens - line.num_cached_tokens
    match measure:
        case Measure.DECODE:
            is_enough = line.num_output_tokens >= LEAST_DECODED
            return line.decode_tokens_per_s if is_enough else None
        case Measure.PREFILL:
            return line.prefill_tokens_per_s if computed >= LEAST_COMPUTED else None
        case Measure.REUSE:
            is_cold = line.cache_miss is not None and line.cache_miss.kind in _COLD
            if is_cold or line.prefill_ns <= 0:
                return None
            return line.num_prompt_tokens * 1e9 / line.prefill_ns
        case Measure.FIRST_TOKEN:
            waited = line.ttft_ns - line.load_wait_ns
            return 1e9 / waited if waited > 0 else None


def predicted_gain(
    measure: Measure, diagnosis: Diagnosis, remedy: Remedy, line: Timeline
) -> float:
    """The remedy's gain on that rate alone: what it saves, over the stage it saves it in."""
    if diagnosis.kind in _SLOWED:
        spent = line.prefill_ns + line.decode_ns
    elif measure is Measure.DECODE:
        spent = line.decode_ns
    elif measure is Measure.FIRST_TOKEN:
        spent = line.ttft_ns - line.load_wait_ns
    else:
        spent = line.prefill_ns
    saved = min(remedy.saved_ns, 0.99 * spent)
    return spent / (spent - saved) if spent > 0 else remedy.gain


def measure_words(measure: Measure) -> str:
    """The rate's name."""
    words = {
        Measure.DECODE: tr("Decode"),
        Measure.PREFILL: tr("Prefill"),
        Measure.REUSE: tr("Reading the prompt"),
        Measure.FIRST_TOKEN: tr("First token"),
    }
    return words[measure]
