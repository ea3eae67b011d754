"""The experiments in words: titles, what each shows, names of series and metrics, and settings."""

from collections.abc import Mapping
from datetime import datetime

from PySide6.QtCore import QDateTime, QLocale

from app.experiments import caching, capacity, chunks, guessing, precision, prompt_length, streams
from app.experiments.answer_length import ITL
from app.experiments.foretell import Foretold
from app.experiments.runs import Run, Setting
from app.experiments.trials import Depth, Text
from ui.charts.figures import Kind
from ui.experiments.rows import DepthRow, ExperimentRow
from ui.i18n import locale, mark, tr
from ui.widgets.about_time import about_time

SEPARATOR = " \u00b7 "
_SET_ITSELF = {"weights": "precision", "kv": "kv"}  # an experiment sets this, whatever is loaded
_COARSE_S = 5  # a guess says no single seconds
_TITLES: Mapping[str, tuple[str, str]] = {
    "cache": (
        mark("What is the cache for?"),
        mark(
            "The same answer with the KV cache, and without it, where time grows with the square."
        ),
    ),
    "prompt": (
        mark("Long prompts"),
        mark("The time to the first token by the length of the prompt."),
    ),
    "answer": (
        mark("Long answers"),
        mark("The time between tokens as an answer grows, and its cache with it."),
    ),
    "streams": (
        mark("Answers at once"),
        mark("What several answers get together, what each feels, and how busy arithmetic is."),
    ),
    "capacity": (
        mark("Room for answers"),
        mark("How many answers of a length have room in the KV cache at once."),
    ),
    "weights": (
        mark("Narrower weights"),
        mark("Speed, memory and quality of this model at each precision."),
    ),
    "kv": (
        mark("A narrower cache"),
        mark("Speed, memory and quality with keys and values in fewer bits."),
    ),
    "guessing": (
        mark("Guessing ahead"),
        mark("Answers with tokens guessed ahead and without, on two kinds of text."),
    ),
    "chunks": (
        mark("Prompts in pieces"),
        mark("What a running answer feels of a long prompt, by the size of its pieces."),
    ),
}
_SERIES: Mapping[str, str] = {
    caching.KEPT: mark("with the cache"),
    caching.ANEW: mark("without the cache"),
    capacity.CALCULATED: mark("calculated"),
    capacity.MEASURED: mark("measured"),
    guessing.PLAIN: mark("without guesses"),
    guessing.AHEAD: mark("with guesses"),
}
_METRICS: Mapping[str, tuple[str, Kind]] = {
    caching.GAP: (mark("Time of each token"), Kind.DURATION),
    caching.TOTAL: (mark("Time so far"), Kind.DURATION),
    prompt_length.TTFT: (mark("Time to the first token"), Kind.DURATION),
    prompt_length.RATE: (mark("Speed of the prompt"), Kind.RATE),
    ITL: (mark("Time between tokens"), Kind.DURATION),
    streams.RATE: (mark("Speed"), Kind.RATE),
    streams.USE: (mark("Use of the arithmetic"), Kind.SHARE),
    capacity.STREAMS: (mark("Answers with room at once"), Kind.COUNT),
    precision.DECODE: (mark("Speed of the answer"), Kind.RATE),
    precision.BYTES: (mark("Memory"), Kind.BYTES),
    precision.AGREEMENT: (mark("Same next token as in full precision"), Kind.SHARE),
    precision.DIVERGENCE: (mark("Divergence from full precision (nats)"), Kind.NUMBER),
    guessing.ACCEPTED: (mark("Guesses that were right"), Kind.SHARE),
    chunks.STALL: (mark("Longest wait of the running answer"), Kind.DURATION),
}
_PLACES: Mapping[str, str] = {
    Text.REPEATING.value: mark("repeating text"),
    Text.PROSE.value: mark("prose"),
    guessing.NGRAMS: mark("random text, with n-grams"),
    precision.CALIBRATED: mark("INT4 calibrated"),
}
_KV_WORDS = {
    "float32": "FP32",
    "float16": "FP16",
    "bfloat16": "BF16",
    "int8": "INT8",
    "int4": "INT4",
}


def experiment_row(name: str) -> ExperimentRow:
    """Title and line of an experiment."""
    title, line = _TITLES[name]
    return ExperimentRow(name, tr(title), tr(line))


def depth_words(depth: str) -> str:
    """How thorough a run is."""
    return tr("Quick") if depth == Depth.QUICK.value else tr("Thorough")


def depth_rows(foretold: Mapping[Depth, Foretold] | None = None) -> tuple[DepthRow, ...]:
    """How thorough a run may be, and how long that takes as far as it is foretold."""
    known = foretold or {}
    return tuple(_depth_row(depth, known.get(depth)) for depth in Depth)


def _depth_row(depth: Depth, foretold: Foretold | None) -> DepthRow:
    words = depth_words(depth.value)
    if foretold is None or not foretold.seconds:  # calculated at once
        return DepthRow(depth.value, words)
    seconds = max(_COARSE_S, _COARSE_S * round(foretold.seconds / _COARSE_S))
    note = tr("How long it takes is estimated from the model's size.")
    if foretold.is_crowded:
        note = tr(
            "The last run here took as long, beside other programs: a quiet machine is faster."
        )
    elif foretold.is_measured:
        note = tr("How long it takes is told by the last run here.")
    shown = tr("{depth}, {time}", depth=words, time=about_time(seconds))
    return DepthRow(depth.value, shown, note)


def series_words(series: str) -> str:
    """The name of a series; empty for one that stands alone."""
    return tr(_SERIES[series]) if series in _SERIES else ""


def metric_words(metric: str) -> str:
    """The name of a metric."""
    return tr(_METRICS[metric][0])


def metric_kind(metric: str) -> Kind:
    """What a metric counts."""
    return _METRICS[metric][1]


def label_words(label: str) -> str:
    """The name of a place that is no number: a precision, or a kind of text."""
    return tr(_PLACES[label]) if label in _PLACES else label.upper()


def kv_words(dtype: str) -> str:
    """The short name of what the cache is kept as."""
    return _KV_WORDS.get(dtype, dtype.upper())


def setting_parts(setting: Setting) -> Mapping[str, str]:
    """What a model ran with, a few words each, by name."""
    return {
        "model": setting.model,
        "precision": setting.precision.upper(),
        "kv": tr("cache {kind}", kind=kv_words(setting.kv)),
        "context": tr("context {n}", n=f"{setting.context:,}"),
        "threads": tr("{n} threads", n=setting.threads),
        "machine": setting.machine,
        "draft": _draft_words(setting.draft),
    }


def _draft_words(draft: str) -> str:
    return tr("draft {name}", name=draft) if draft else tr("no draft")


def when_words(run: Run) -> str:
    """When a run was made, in this computer's time."""
    try:
        at = datetime.fromisoformat(run.at)
    except ValueError:
        return run.at
    moment = QDateTime.fromSecsSinceEpoch(int(at.timestamp()))
    return locale().toString(moment, QLocale.FormatType.ShortFormat)


def run_words(run: Run) -> str:
    """One line about a run in a list."""
    parts = setting_parts(run.setting)
    names = ("model", "precision", "kv", "threads", *(("draft",) if run.setting.draft else ()))
    shown = [when_words(run)]
    if run.depth == Depth.FULL.value:
        shown.append(tr("thorough"))
    if not run.is_complete:
        shown.append(tr("incomplete"))
    return SEPARATOR.join([*shown, *(parts[name] for name in names)])


def names_of(first: Run, second: Run) -> tuple[str, str]:
    """Two runs by what differs between them; by their times where nothing does."""
    one, other = setting_parts(first.setting), setting_parts(second.setting)
    unimportant = _SET_ITSELF.get(first.experiment, "")
    names = [name for name in one if one[name] != other[name] and name != unimportant]
    if not names and first.depth == second.depth:
        return when_words(first), when_words(second)
    words = []
    for run, parts in ((first, one), (second, other)):
        shown = [parts[name] for name in names[:2]]
        if first.depth != second.depth:
            shown.append(depth_words(run.depth))
        words.append(SEPARATOR.join(shown))
    return words[0], words[1]
