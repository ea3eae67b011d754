"""Which charts show an experiment: from readings of one run or two to figures in words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from app.controllers.experiments.sentences import sentence_of
from app.controllers.experiments.words import (
    label_words,
    metric_kind,
    metric_words,
    names_of,
    series_words,
)
from app.experiments import caching, capacity, chunks, guessing, precision, prompt_length, streams
from app.experiments.answer_length import ITL
from app.experiments.runs import Difference, Run, differences
from app.experiments.spread import Spread, curve, series_of
from app.experiments.trials import Reading
from ui.charts.figures import (
    Axis,
    Bar,
    BarFigure,
    BarSeries,
    Kind,
    LineFigure,
    Point,
    Series,
    Table,
)
from ui.charts.quantities import words_of
from ui.experiments.rows import Figure
from ui.i18n import mark, tr

CALCULATED = frozenset({capacity.CALCULATED})
_MOST_OF_A_CURVE = 5
_SAME = 0.05  # a difference of less is none


@dataclass(frozen=True, slots=True)
class View:
    """One chart: a metric over ``x`` (its name and what it counts), or bars where that is empty.

    ``across`` names a metric that is the place of a point, in place of the planned one.
    ``is_calculated``: derived from a measurement by arithmetic that is no measurement. ``title``
    names the metric where its usual name says too little.
    """

    metric: str
    x: str = ""
    x_kind: Kind = Kind.COUNT
    across: str = ""
    is_log_x: bool = False
    is_calculated: bool = False
    title: str = ""


VIEWS: Mapping[str, tuple[View, ...]] = {
    "cache": (
        View(caching.GAP, mark("Token of the answer")),
        View(caching.TOTAL, mark("Token of the answer")),
    ),
    "prompt": (
        View(prompt_length.TTFT, mark("Prompt"), Kind.TOKENS, prompt_length.TOKENS),
        View(prompt_length.RATE, mark("Prompt"), Kind.TOKENS, prompt_length.TOKENS),
    ),
    "answer": (View(ITL, mark("Token of the answer")),),
    "streams": (
        View(streams.RATE, mark("Answers at once")),
        View(streams.ITL, mark("Answers at once")),
        View(streams.USE, mark("Answers at once"), is_calculated=True),
    ),
    "capacity": (View(capacity.STREAMS, mark("Each answer"), Kind.TOKENS, is_log_x=True),),
    "weights": (
        View(precision.DECODE),
        View(precision.PREFILL),
        View(precision.BYTES),
        View(precision.AGREEMENT),
        View(precision.DIVERGENCE),
    ),
    "kv": (
        View(precision.DECODE),
        View(precision.BYTES, title=mark("Cache of each token")),
        View(precision.AGREEMENT),
        View(precision.DIVERGENCE),
    ),
    "guessing": (View(guessing.RATE), View(guessing.ACCEPTED)),
    "chunks": (
        View(chunks.STALL, mark("Piece of the prompt"), Kind.TOKENS, is_log_x=True),
        View(chunks.TTFT, mark("Piece of the prompt"), Kind.TOKENS, is_log_x=True),
    ),
}


@dataclass(frozen=True, slots=True)
class Side:
    """Readings under the name of their run, which is empty where there is but one."""

    readings: tuple[Reading, ...]
    name: str = ""


def figures_of(experiment: str, sides: Sequence[Side]) -> tuple[Figure, ...]:
    """All charts for which something was measured."""
    words = " ".join(sentence_of(experiment, side.readings) for side in sides).strip()
    prepared = [_prepared(experiment, side) for side in sides]
    measured = {name for side in prepared for r in side.readings for name in r.values}
    views = (view for view in VIEWS[experiment] if view.metric in measured)
    return tuple(_figure(view, prepared, words) for view in views)


def _prepared(experiment: str, side: Side) -> Side:
    if experiment == "streams":
        return Side(streams.with_use(side.readings), side.name)
    return side


def _figure(view: View, sides: Sequence[Side], words: str) -> Figure:
    title = _title_of(view)
    found: list[tuple[str, tuple[Spread, ...], bool]] = []
    for side in sides:
        for series in series_of(side.readings):
            spreads = curve(side.readings, series, view.metric, view.across)
            if spreads:
                names = [part for part in (side.name, series_words(series)) if part]
                is_calculated = series in CALCULATED or view.is_calculated
                found.append((": ".join(names), spreads, is_calculated))
    if not view.x:
        return _bars(view, title, found, words)
    return LineFigure(
        title,
        Axis(tr(view.x), view.x_kind, is_log=view.is_log_x),
        Axis(title, metric_kind(view.metric)),
        tuple(
            Series(name, tuple(map(_point, spreads)), is_calculated=is_calculated)
            for name, spreads, is_calculated in found
        ),
        words,
    )


def _title_of(view: View) -> str:
    return tr(view.title) if view.title else metric_words(view.metric)


def _point(spread: Spread) -> Point:
    if spread.low == spread.high:
        return Point(spread.x, spread.middle)
    return Point(spread.x, spread.middle, spread.low, spread.high)


def _bars(
    view: View, title: str, found: Sequence[tuple[str, tuple[Spread, ...], bool]], words: str
) -> BarFigure:
    places = sorted({(s.x, s.label) for _name, spreads, _c in found for s in spreads})
    series = []
    for name, spreads, is_calculated in found:
        by_place = {(s.x, s.label): s for s in spreads}
        bars = tuple(_bar(by_place.get(place)) for place in places)
        series.append(BarSeries(name, bars, is_calculated=is_calculated))
    categories = tuple(label_words(label) for _x, label in places)
    return BarFigure(
        title, Axis(title, metric_kind(view.metric)), categories, tuple(series), words
    )


def _bar(spread: Spread | None) -> Bar | None:
    if spread is None:
        return None
    if spread.low == spread.high:
        return Bar(spread.middle)
    return Bar(spread.middle, spread.low, spread.high)


def _few(found: Sequence[Difference]) -> list[Difference]:
    """At most some of each curve, its end among them."""
    curves: dict[tuple[str, str], list[Difference]] = {}
    for each in found:
        curves.setdefault((each.metric, each.series), []).append(each)
    few = []
    for curve_of in curves.values():
        step = -(-len(curve_of) // _MOST_OF_A_CURVE)
        few += curve_of[::-1][::step][::-1]
    return few


def compared(first: Run, second: Run) -> Iterator[str]:
    """What changed in the first chart, by the middle of all places that both have; a sentence each."""
    view = VIEWS[first.experiment][0]
    sides = [_prepared(first.experiment, Side(run.readings)).readings for run in (first, second)]
    changes: dict[str, list[float]] = {}
    for each in differences(sides[0], sides[1], (view.metric,)):
        if each.change is not None and each.series not in CALCULATED:
            changes.setdefault(each.series, []).append(each.change)
    one, other = names_of(first, second)
    for series, found in changes.items():
        name = series_words(series)
        what = _title_of(view) + (f" ({name})" if name else "")
        change = median(found)
        if abs(change) < _SAME:
            yield tr(
                "{one} and {other}: {what} within 5% the same.", one=one, other=other, what=what
            )
        else:
            yield tr(
                "{other} against {one}: {what} {change}.",
                other=other,
                one=one,
                what=what,
                change=f"{100 * change:+.0f}%",
            )


def differences_of(experiment: str, first: Run, second: Run) -> Table:
    """Values that both runs have, side by side, and the change; some of each long curve."""
    views = {view.metric: view for view in VIEWS[experiment]}
    sides = [_prepared(experiment, Side(run.readings)).readings for run in (first, second)]
    rows, values = [], []
    for each in _few(differences(sides[0], sides[1], tuple(views))):
        view, kind = views[each.metric], metric_kind(each.metric)
        series = series_words(each.series)
        what = _title_of(view) + (f" ({series})" if series else "")
        place = label_words(each.label) if each.label else words_of(view.x_kind, each.x)
        change = "" if each.change is None else f"{100 * each.change:+.1f}%"
        mark = "~" if view.is_calculated or each.series in CALCULATED else ""
        sides_words = [mark + words_of(kind, value) for value in (each.first, each.second)]
        rows.append((what, place, *sides_words, change))
        plain = "" if each.change is None else f"{each.change:.4g}"
        values.append((what, place, f"{each.first:.6g}", f"{each.second:.6g}", plain))
    headings = (tr("What"), tr("Where"), *names_of(first, second), tr("Change"))
    return Table(headings, tuple(rows), tuple(values))
