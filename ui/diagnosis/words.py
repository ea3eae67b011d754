"""A diagnosis and its remedies in the reader's language. Pure functions."""

from engine.api import Diagnosis, DiagnosisKind, Evidence, Remedy
from ui.i18n import tr
from ui.widgets.units import milliseconds


def kind_words(kind: DiagnosisKind) -> str:
    """A kind as a heading."""
    words = {
        DiagnosisKind.PREFILL_BOUND: tr("Prefill-bound"),
        DiagnosisKind.DECODE_BOUND: tr("Decode-bound"),
        DiagnosisKind.HOST_BOUND: tr("Host-bound"),
        DiagnosisKind.QUEUE_BOUND: tr("Queue-bound"),
        DiagnosisKind.CACHE_MISS: tr("Cache missed"),
        DiagnosisKind.MEMORY_SPILLED: tr("Memory spilled over"),
        DiagnosisKind.THROTTLED: tr("Processor throttled"),
        DiagnosisKind.PAINT_BOUND: tr("Paint-bound"),
        DiagnosisKind.CONTENDED: tr("Other programs compute"),
        DiagnosisKind.STOLEN: tr("Virtual machine held back"),
        DiagnosisKind.UNSURE: tr("Unsure"),
    }
    return words[kind]


def sentence_words(diagnosis: Diagnosis) -> str:
    """What is said of the answer, and what an unsure diagnosis could not choose from."""
    words = tr(diagnosis.sentence.value, **diagnosis.values)
    if diagnosis.candidates:
        names = [kind_words(kind) for kind in diagnosis.candidates]
        names_words = tr(", ").join(names)
        return tr("{sentence} Possible: {names}.", sentence=words, names=names_words)
    return words


def evidence_words(evidence: Evidence | None) -> tuple[str, str]:
    """The number behind a diagnosis, and what it counts; both empty where there is none."""
    if evidence is None:
        return "", ""
    names = {
        "queue_share": tr("of the time spent waiting"),
        "text_share": tr("of the time spent on text and tokens"),
        "prefill_share": tr("of the time spent on the prompt"),
        "paint_share": tr("of the time spent on the screen"),
        "reading_share": tr("of each token's time is reading, at this machine's ceiling"),
        "offloaded": tr("of each token's time is reading from slower memory"),
        "swapped": tr("of what a token reads came back from the disk"),
        "frequency": tr("is the processor's frequency under load"),
        "other_cores": tr("cores busy with other programs"),
        "waited": tr("of the time the engine had no core"),
        "stolen": tr("of the processor time the host took"),
        "host": tr("of the time is work around the model"),
        "lost_tokens": tr("tokens computed a second time"),
        "recomputed_tokens": tr("tokens computed anew for each token"),
        "paint_delay": tr("from a token's choice to the screen"),
    }
    return _number(evidence), names.get(evidence.name, evidence.name)


def _number(evidence: Evidence) -> str:
    value = evidence.value
    match evidence.unit:
        case "share":
            return f"{100 * min(value, 1.0):.0f}%"
        case "ms":
            return f"{milliseconds(value * 1e6)} ms"
        case "mhz":
            return f"{value:,.0f} MHz"
        case "cores":
            return f"{value:.1f}"
        case _:
            return f"{value:,.0f}"


def remedy_words(remedy: Remedy) -> str:
    """What to change."""
    value = str(remedy.value)
    count = f"{remedy.value:,}" if isinstance(remedy.value, int) else value
    words = {
        "weights": tr("{name} weights", name=value.upper()),
        "kv": tr("{name} KV cache", name=value.upper()),
        "threads": tr("{n} threads", n=count),
        "kv_cache": tr("Use the KV cache"),
        "prefix_cache": tr("Keep earlier prompts in the cache"),
        "kv_budget_mib": tr("A KV cache of {n} MiB", n=count),
        "gpu_budget_mib": tr("{n} MiB of the graphics card", n=count),
        "keep_cache": tr("Keep the cache with the conversation"),
        "max_streams": tr("{n} answers at once", n=count),
        "draft": tr("No guessing ahead"),
        "power": tr("Full processor speed: plug it in, choose a faster power mode, let it cool"),
        "other_programs": tr("Close other programs that compute"),
        "quiet_host": tr(
            "A quieter host: pause other virtual machines on it, or give this one processors of "
            "its own"
        ),
    }
    return words.get(remedy.key, remedy.key)


def gain_words(gain: float) -> str:
    """A calculated gain."""
    return tr("~{gain} times as fast", gain=factor(gain))


def factor(gain: float) -> str:
    """How many times as fast, with the digits that mean something."""
    return f"{gain:.2f}" if gain < 9.995 else f"{gain:,.0f}"


def measured_words(what: str, predicted: float, measured: float) -> str:
    """What a remedy promised, and what came of it."""
    return tr(
        "{what}: predicted ~{predicted} times as fast, measured {measured}.",
        what=what,
        predicted=factor(predicted),
        measured=factor(measured),
    )
