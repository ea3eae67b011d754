"""Where an answer's stages lie below this machine's ceilings: points, sentences and tables.

Pure functions over a report and measured ceilings.
"""

from engine.api import MachineCeilings, Precision, Roofline, RoofPoint
from ui.charts.figures import Kind, Table
from ui.charts.figures import RoofPoint as ChartPoint
from ui.charts.quantities import words_of
from ui.i18n import tr
from ui.inspector.machine.picture import MachinePicture
from ui.widgets.units import UNKNOWN, bytes_quantity

_PRECISIONS = (Precision.INT4, Precision.INT8, Precision.BF16, Precision.FP32)
_DAY_S = 24 * 3_600


def roof_of(picture: MachinePicture) -> tuple[float, float]:
    """The ceilings of the chart, bytes and operations a second; zeros where none are known.

    An answer's own ones, which are those of its weights, else those of the loaded model's.
    """
    line = None if picture.report is None else picture.report.roofline
    if line is not None:
        return line.decode.bytes_per_s_ceiling, line.prefill.flops_per_s_ceiling
    ceilings = picture.ceilings
    if ceilings is None:
        return 0.0, 0.0
    precision = Precision.INT8 if picture.info is None else picture.info.precision
    return ceilings.read_bytes_per_s, ceilings.flops_per_s.get(precision, 0.0)


def chart_points(line: Roofline | None) -> list[ChartPoint]:
    """Prefill and decode, as far as they took time."""
    if line is None:
        return []
    named = (
        (tr("Prefill"), line.prefill, "stage_prefill"),
        (tr("Decode"), line.decode, "stage_decode"),
    )
    return [
        ChartPoint(name, point.intensity, point.flops_per_s, token)
        for name, point, token in named
        if point.flops_per_s
    ]


def stage_sentences(line: Roofline) -> list[str]:
    """What each stage does with the machine, in plain words."""
    return [*_decode(line.decode), *_prefill(line.prefill)]


def _decode(point: RoofPoint) -> list[str]:
    if point.bytes_per_s is None or point.share is None:
        return []
    words = [
        tr(
            "Each decoded token reads {size} of memory, at {rate}: {share} of what this machine "
            "can read.",
            size=bytes_quantity(point.num_bytes),
            rate=words_of(Kind.BANDWIDTH, point.bytes_per_s),
            share=words_of(Kind.SHARE, point.share),
        )
    ]
    if point.utilisation is not None and point.utilisation < 1:
        words.append(
            tr(
                "Decode leaves ~{idle} of the arithmetic idle: it does {n} operations for each "
                "byte it reads.",
                idle=words_of(Kind.SHARE, 1 - point.utilisation),
                n=f"{point.intensity:.2g}",
            )
        )
    return words


def _prefill(point: RoofPoint) -> list[str]:
    if point.flops_per_s is None or point.share is None:
        return []
    return [
        tr(
            "Reading the prompt computes {rate}: {share} of what this machine can compute with "
            "these weights.",
            rate=words_of(Kind.FLOPS, point.flops_per_s),
            share=words_of(Kind.SHARE, point.share),
        )
    ]


def stage_table(line: Roofline) -> Table:
    """The figures of both stages: of the whole prompt, and of one token."""
    stages = (line.prefill, line.decode)
    rows = [
        (tr("Bytes read"), *(str(bytes_quantity(p.num_bytes)) for p in stages)),
        (tr("Intensity"), *(words_of(Kind.INTENSITY, p.intensity) for p in stages)),
        (tr("Reading"), *(_rate(Kind.BANDWIDTH, p.bytes_per_s) for p in stages)),
        (tr("Computing"), *(_rate(Kind.FLOPS, p.flops_per_s) for p in stages)),
        (tr("Of ceiling"), *(_rate(Kind.SHARE, p.share) for p in stages)),
        (tr("Utilisation"), *(_rate(Kind.SHARE, p.utilisation) for p in stages)),
    ]
    headings = ("", tr("Prefill"), tr("Decode"))
    return Table(headings, tuple(rows), tuple(rows))


def _rate(kind: Kind, value: float | None) -> str:
    return UNKNOWN if value is None else words_of(kind, value)


def ceiling_table(ceilings: MachineCeilings) -> Table:
    """What was measured of the machine."""
    rows = [
        (tr("Reading weights"), words_of(Kind.BANDWIDTH, ceilings.read_bytes_per_s)),
        (tr("Reading the cache"), words_of(Kind.BANDWIDTH, ceilings.cache_bytes_per_s)),
    ]
    rows += [
        (
            tr("Products, {precision}", precision=precision.value.upper()),
            words_of(Kind.FLOPS, ceilings.flops_per_s[precision]),
        )
        for precision in _PRECISIONS
        if precision in ceilings.flops_per_s
    ]
    return Table((tr("Ceiling"), tr("Measured")), tuple(rows), tuple(rows))


def measured_words(picture: MachinePicture) -> str:
    """When and on what the ceilings were measured, and what is doubtful about them."""
    ceilings = picture.ceilings
    if ceilings is None:
        return tr(
            "This machine's ceilings are not measured yet. It takes ~20 s, best while nothing "
            "else runs."
        )
    where = tr("the graphics card") if ceilings.device == "cuda" else tr("the processor")
    days = int(picture.age_s // _DAY_S)
    when = tr("today") if days < 1 else tr("{n} days ago", n=f"{days:,}")
    words = tr(
        "Measured {when} on {where}, {n} threads.", when=when, where=where, n=ceilings.threads
    )
    if picture.is_exceeded:
        doubt = tr(
            "This answer was faster than they allow, so something held the machine up when they "
            "were measured. Measure again."
        )
        return f"{words} {doubt}"
    if picture.is_old:
        return f"{words} {tr('That is long ago; measuring again keeps the better figures.')}"
    return words
