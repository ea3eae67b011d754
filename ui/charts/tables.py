"""The table behind each figure: as text for people, and as plain values for other programs."""

import csv
import io

from ui.charts.figures import (
    Axis,
    Bar,
    BarFigure,
    Kind,
    LineFigure,
    Point,
    RooflineFigure,
    Series,
    Table,
)
from ui.charts.quantities import spread_words, words_of
from ui.i18n import tr

_UNITS = {
    Kind.DURATION: "ms",
    Kind.BYTES: "B",
    Kind.RATE: "tok/s",
    Kind.FLOPS: "FLOP/s",
    Kind.BANDWIDTH: "B/s",
    Kind.INTENSITY: "FLOP/B",
}


def table_of_lines(figure: LineFigure) -> Table:
    """A row for each x, a column for each series."""
    places = sorted({point.x for series in figure.series for point in series.points})
    found = [{point.x: point for point in series.points} for series in figure.series]
    headings = (_heading(figure.x), *(_series_heading(s, figure.y) for s in figure.series))
    rows, values = [], []
    for x in places:
        points = [by_x.get(x) for by_x in found]
        cells = zip(points, figure.series, strict=True)
        words = [_point_words(point, figure.y.kind, series) for point, series in cells]
        rows.append((words_of(figure.x.kind, x), *words))
        values.append((_plain(x), *("" if p is None else _plain(p.y) for p in points)))
    titles = (figure.x.label, *(s.name or figure.y.label for s in figure.series))
    return Table(headings, tuple(rows), tuple(values), titles)


def table_of_bars(figure: BarFigure) -> Table:
    """A row for each category, a column for each series."""
    names = [series.name or figure.title for series in figure.series]
    headings = ("", *(_with_unit(name, figure.value.kind) for name in names))
    rows, values = [], []
    for number, category in enumerate(figure.categories):
        bars = [series.bars[number] for series in figure.series]
        marks = ["~" if series.is_calculated else "" for series in figure.series]
        words = [
            "" if bar is None else mark + _with_spread(bar, figure.value.kind)
            for bar, mark in zip(bars, marks, strict=True)
        ]
        rows.append((category, *words))
        values.append((category, *("" if bar is None else _plain(bar.value) for bar in bars)))
    return Table(headings, tuple(rows), tuple(values), ("", *names))


def table_of_roofline(figure: RooflineFigure) -> Table:
    """A row for each point; the last two are the ceilings."""
    kinds = (Kind.INTENSITY, Kind.FLOPS)
    names = (tr("Intensity"), tr("Arithmetic"))
    pairs = zip(names, kinds, strict=True)
    headings = ("", *(_with_unit(name, kind) for name, kind in pairs))
    rows = [
        (p.name, words_of(kinds[0], p.intensity), words_of(kinds[1], p.flops_per_s))
        for p in figure.points
    ]
    values = [(p.name, _plain(p.intensity), _plain(p.flops_per_s)) for p in figure.points]
    memory, peak = figure.memory_bytes_per_s, figure.flops_per_s
    if memory > 0 and peak > 0:
        rows.append((tr("reads"), "", words_of(Kind.BANDWIDTH, memory)))
        rows.append((tr("computes"), "", words_of(Kind.FLOPS, peak)))
        values += [(tr("reads"), "", _plain(memory)), (tr("computes"), "", _plain(peak))]
    return Table(headings, tuple(rows), tuple(values), ("", *names))


def csv_text(tables: list[tuple[str, Table]]) -> str:
    """Tables under each other, each with its title above and an empty line below."""
    out = io.StringIO()
    writer = csv.writer(out)
    for number, (title, table) in enumerate(tables):
        if number:
            writer.writerow([])
        writer.writerow([title])
        writer.writerow(table.headings)
        writer.writerows(table.values)
    return out.getvalue()


def _heading(axis: Axis) -> str:
    return _with_unit(axis.label, axis.kind)


def _series_heading(series: Series, axis: Axis) -> str:
    return _with_unit(series.name or axis.label, axis.kind)


def _with_unit(name: str, kind: Kind) -> str:
    unit = _UNITS.get(kind, "")
    return f"{name} ({unit})" if unit else name


def _point_words(point: Point | None, kind: Kind, series: Series) -> str:
    if point is None:
        return ""
    return ("~" if series.is_calculated else "") + _with_spread(
        Bar(point.y, point.low, point.high), kind
    )


def _with_spread(bar: Bar, kind: Kind) -> str:
    words, spread = words_of(kind, bar.value), spread_words(kind, bar.low, bar.high)
    return f"{words} ({spread})" if spread else words


def _plain(value: float) -> str:
    return f"{value:.6g}"
