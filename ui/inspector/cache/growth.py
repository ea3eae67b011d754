"""How this chat's cache grows with its tokens, up to the limit: a figure for a line chart."""

from ui.charts.figures import Axis, Kind, LineFigure, Point, Series
from ui.i18n import tr
from ui.inspector.cache.picture import CachePicture, growth
from ui.widgets.units import bytes_quantity


def growth_figure(picture: CachePicture) -> LineFigure:
    """The line of this chat, where it is now, and the budget."""
    points = growth(picture)
    limit, budget = picture.limit_tokens, picture.budget_bytes
    tokens = min(picture.chat.num_tokens, limit)
    line = Series(tr("this chat"), tuple(Point(x, y) for x, y in points), is_calculated=True)
    series = [line]
    if tokens:
        series.append(Series(tr("now"), (Point(tokens, picture.bytes_of(tokens)),)))
    # a budget of many contexts would press the line to the ground
    if limit and budget <= 2 * points[-1][1]:
        ends = (Point(0, budget), Point(limit, budget))
        series.append(Series(tr("budget"), ends, is_calculated=True))
    return LineFigure(
        title=tr("Growth of this chat"),
        x=Axis(tr("tokens"), Kind.TOKENS),
        y=Axis(tr("KV cache"), Kind.BYTES),
        series=tuple(series),
        sentence=growth_sentence(picture),
    )


def growth_sentence(picture: CachePicture) -> str:
    """The same in words."""
    limit = picture.limit_tokens
    tokens = min(picture.chat.num_tokens, limit)
    whole = tr(
        "A chat of {limit} tokens, the most there is room for, takes {size}.",
        limit=f"{limit:,}",
        size=bytes_quantity(picture.bytes_of(limit)),
    )
    bounds = tr(
        "The context ends at {context} tokens; the cache's budget is {budget}.",
        context=f"{picture.context_length:,}",
        budget=bytes_quantity(picture.budget_bytes),
    )
    if not tokens:
        return f"{whole} {bounds}"
    now = tr(
        "This chat has {tokens} tokens now, which take {size}.",
        tokens=f"{tokens:,}",
        size=bytes_quantity(picture.bytes_of(tokens)),
    )
    return f"{now} {whole} {bounds}"
