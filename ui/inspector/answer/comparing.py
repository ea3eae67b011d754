"""Two answers side by side: their figures in a table, and what follows in a sentence. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.api import AnswerReport, Timeline
from ui.charts.figures import Kind, Table
from ui.charts.quantities import words_of
from ui.diagnosis.words import factor, kind_words
from ui.i18n import tr
from ui.inspector.answer.gaps import gaps_of
from ui.widgets.units import UNKNOWN

_SAME = 0.05  # a difference of less is none
_NS_PER_MS = 1e6


@dataclass(frozen=True, slots=True)
class Looked:
    """An answer that is compared; ``report``: what was observed of it, where that is known."""

    timeline: Timeline
    report: AnswerReport | None = None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What is said of two answers."""

    sentence: str
    table: Table


@dataclass(frozen=True, slots=True)
class _Figure:
    """``is_compared``: a change of it means something."""

    name: str
    kind: Kind
    value: float | None
    is_compared: bool = True


def comparison(one: Looked, other: Looked) -> Comparison:
    """``one`` is the answer that is looked at; changes are from the other to it."""
    rows = []
    for mine, theirs in zip(_figures(one), _figures(other), strict=True):
        if mine.value is None and theirs.value is None:
            continue
        words = [
            UNKNOWN if figure.value is None else words_of(figure.kind, figure.value)
            for figure in (mine, theirs)
        ]
        rows.append((mine.name, *words, _change(mine, theirs)))
    if (weights := _weights(one, other)) is not None:
        rows.insert(0, weights)
    headings = (tr("Figure"), tr("this"), tr("the other"), tr("change"))
    table = Table(headings, tuple(rows), tuple(rows))
    return Comparison(_sentence(one, other), table)


def _figures(looked: Looked) -> Iterator[_Figure]:
    line, report = looked.timeline, looked.report
    computed = line.num_prompt_tokens - line.num_cached_tokens
    yield _Figure(
        tr("First token"), Kind.DURATION, (line.ttft_ns - line.load_wait_ns) / _NS_PER_MS
    )
    yield _Figure(tr("Prompt computed"), Kind.COUNT, float(computed), is_compared=False)
    yield _Figure(tr("Reading it"), Kind.RATE, line.prefill_tokens_per_s)
    yield _Figure(
        tr("Tokens written"), Kind.COUNT, float(line.num_output_tokens), is_compared=False
    )
    yield _Figure(tr("Writing"), Kind.RATE, line.decode_tokens_per_s)
    gaps = None if report is None else gaps_of(report.gaps_ns, report.stalls)
    for name, value in (
        ("ITL p50", None if gaps is None else gaps.p50_ns),
        ("ITL p95", None if gaps is None else gaps.p95_ns),
    ):
        yield _Figure(name, Kind.DURATION, None if value is None else value / _NS_PER_MS)
    roofline = None if report is None else report.roofline
    share = None if roofline is None else roofline.decode.share
    yield _Figure(tr("Of the ceiling"), Kind.SHARE, share)
    machine = None if report is None else report.machine
    waited = None if machine is None else machine.waited
    yield _Figure(tr("Without a core"), Kind.SHARE, waited, is_compared=False)


def _change(mine: _Figure, theirs: _Figure) -> str:
    if not mine.is_compared or mine.value is None or not theirs.value:
        return ""
    return f"{100 * (mine.value / theirs.value - 1):+.0f}%"


def _weights(one: Looked, other: Looked) -> tuple[str, str, str, str] | None:
    if (
        one.report is None
        or other.report is None
        or one.report.precision == other.report.precision
    ):
        return None
    return tr("Weights"), one.report.precision.upper(), other.report.precision.upper(), ""


def _sentence(one: Looked, other: Looked) -> str:
    words = _speed(one.timeline.decode_tokens_per_s, other.timeline.decode_tokens_per_s)
    if one.report is None or other.report is None:
        return words
    kinds = [kind_words(looked.report.diagnosis.kind) for looked in (one, other) if looked.report]
    held = tr("This one: {this}; the other: {other}.", this=kinds[0], other=kinds[1])
    if kinds[0] == kinds[1]:
        held = tr("Both: {kind}.", kind=kinds[0])
    return tr("{first} {second}", first=words, second=held) if words else held


def _speed(mine: float | None, theirs: float | None) -> str:
    if not mine or not theirs:
        return ""
    times = mine / theirs
    if abs(times - 1) < _SAME:
        return tr("Both were written equally fast, within 5%.")
    if times > 1:
        return tr("This answer was written {n} times as fast as the other.", n=factor(times))
    return tr("The other answer was written {n} times as fast as this one.", n=factor(1 / times))
