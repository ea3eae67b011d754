"""An answer's stages as lanes over one axis, and as rows whose shares add up. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.api import ChunkTime, StageTime, Timeline
from engine.api.stages import stages_of
from ui.i18n import mark, tr, tr_n
from ui.widgets.units import UNKNOWN, duration_quantity, rate_quantity

PAINT = "paint"
_TOKENS = {
    "load": "stage_load",
    "queue": "stage_queue",
    "template": "stage_tokenize",
    "tokenize": "stage_tokenize",
    "prefill": "stage_prefill",
    "first_sample": "stage_decode",
    "decode": "stage_decode",
    "detokenize": "stage_tokenize",
    PAINT: "stage_paint",
}
_LABELS = {
    "load": mark("load"),
    "queue": mark("queue"),
    "template": mark("template"),
    "tokenize": mark("tokenise"),
    "prefill": mark("prefill"),
    "first_sample": mark("first sample"),
    "decode": mark("decode"),
    "detokenize": mark("detokenise"),
    PAINT: mark("first paint"),
}
# rows of single chunks are read only where they are few
MOST_CHUNK_ROWS = 24


@dataclass(frozen=True, slots=True)
class Piece:
    """One box: ns after Send, and what it says, the most important line first."""

    start_ns: int
    duration_ns: int
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lane:
    """One stage. ``spans`` are where it was under way, ``pieces`` what is known inside them."""

    name: str
    label: str
    token: str
    spans: tuple[Piece, ...]
    pieces: tuple[Piece, ...] = ()

    @property
    def start_ns(self) -> int:
        """Where it begins, after Send."""
        return self.spans[0].start_ns

    @property
    def duration_ns(self) -> int:
        """All its spans."""
        return sum(span.duration_ns for span in self.spans)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the list; ``lane`` is its place among the lanes.

    ``tenths``: its share of the whole in 0.1%; None: it went on beside others. ``is_part``: a
    part of the row above.
    """

    lane: int
    label: str
    token: str
    start_ns: int
    duration_ns: int
    tenths: int | None
    lines: tuple[str, ...]
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A whole answer. ``first_ns``: to the first character on the screen, or the first token.

    ``chunks``: tokens of the prompt that each chunk computed, behind ``num_cached`` from the cache.
    """

    lanes: tuple[Lane, ...]
    rows: tuple[Row, ...]
    total_ns: int
    first_ns: int
    num_cached: int
    chunks: tuple[int, ...]
    sentence: str
    total_label: str


def pipeline_of(
    line: Timeline, chunks: Sequence[ChunkTime] = (), *, is_complete: bool = True
) -> Pipeline:
    """Everything that is known of an answer's stages; what goes on lasts until its newest token."""
    stages = [stage for stage in stages_of(line) if stage.duration_ns > 0 or stage.name != "load"]
    total = max(1, line.end_ns - line.sent_ns)
    lanes = [_lane(stage, line, chunks) for stage in stages]
    tenths = shares([lane.duration_ns for lane in lanes])
    rows: list[Row] = []
    for number, (lane, share) in enumerate(zip(lanes, tenths, strict=True)):
        rows.append(_row(number, lane, share))
        if lane.name == "prefill" and 1 < len(chunks) <= MOST_CHUNK_ROWS:
            rows += _chunk_rows(number, lane)
    if line.paint_ns is not None:
        lanes.append(_paint_lane(line))
        rows.append(_row(len(lanes) - 1, lanes[-1], None))
    computed = line.num_prompt_tokens - line.num_cached_tokens
    return Pipeline(
        tuple(lanes),
        tuple(rows),
        total,
        max(1, line.ttft_ns),
        line.num_cached_tokens,
        tuple(chunk.num_computed for chunk in chunks) or (computed,),
        _sentence(line, lanes, is_complete=is_complete),
        tr("whole answer") if is_complete else tr("so far"),
    )


def shares(durations: Sequence[int]) -> list[int]:
    """Each one's share in 0.1%; together 1,000, or all 0 where nothing took time."""
    total = sum(durations)
    if total <= 0:
        return [0] * len(durations)
    exact = [1_000 * duration / total for duration in durations]
    given = [int(share) for share in exact]
    # who was cut most gets what is left
    order = sorted(range(len(exact)), key=lambda n: given[n] - exact[n])
    for n in order[: 1_000 - sum(given)]:
        given[n] += 1
    return given


def share_words(tenths: int | None) -> str:
    """A share as a percentage; a dash for what went on beside others."""
    return UNKNOWN if tenths is None else f"{tenths / 10:.1f}%"


def exact_ms(duration_ns: int) -> str:
    """Milliseconds to the hundredth, for figures that are added up."""
    return f"{duration_ns / 1e6:,.2f}"


def label_of(name: str) -> str:
    """A stage's name in the reader's language."""
    return tr(_LABELS[name])


def _lane(stage: StageTime, line: Timeline, chunks: Sequence[ChunkTime]) -> Lane:
    label = label_of(stage.name)
    more = _stage_lines(stage, line)
    spans = tuple(
        Piece(start, duration, (_title(label, duration), _from(start), *more))
        for start, duration in stage.spans
    )
    pieces = _chunk_pieces(chunks) if stage.name == "prefill" else ()
    return Lane(stage.name, label, _TOKENS[stage.name], spans, pieces)


def _paint_lane(line: Timeline) -> Lane:
    duration = line.paint_ns or 0
    label, start = label_of(PAINT), line.first_token_ns - line.sent_ns
    words = tr("while the model decodes")
    piece = Piece(start, duration, (_title(label, duration), _from(start), words))
    return Lane(PAINT, label, _TOKENS[PAINT], (piece,))


def _stage_lines(stage: StageTime, line: Timeline) -> tuple[str, ...]:
    """Tokens and their rate, where a stage has them."""
    if stage.name == "prefill":
        computed = line.num_prompt_tokens - line.num_cached_tokens
        counts = tr(
            "{computed} tokens computed, {cached} from the cache",
            computed=f"{computed:,}",
            cached=f"{line.num_cached_tokens:,}",
        )
        return (counts, *_rate(line.prefill_tokens_per_s))
    if stage.name == "decode":
        tokens = tr_n("{n} token", "{n} tokens", line.num_output_tokens)
        return (tokens, *_rate(line.decode_tokens_per_s))
    return ()


def _chunk_pieces(chunks: Sequence[ChunkTime]) -> tuple[Piece, ...]:
    pieces = []
    for number, chunk in enumerate(chunks, 1):
        duration = chunk.end_ns - chunk.start_ns
        place = tr(
            "tokens {first} to {last} of the prompt",
            first=f"{chunk.position + 1:,}",
            last=f"{chunk.position + chunk.num_computed:,}",
        )
        rate = chunk.num_computed * 1e9 / duration if duration > 0 else None
        name = tr("chunk {number} of {count}", number=number, count=len(chunks))
        lines = (_title(name, duration), _from(chunk.start_ns), place, *_rate(rate))
        pieces.append(Piece(chunk.start_ns, duration, lines))
    return tuple(pieces)


def _row(number: int, lane: Lane, tenths: int | None) -> Row:
    return Row(
        number,
        lane.label,
        lane.token,
        lane.start_ns,
        lane.duration_ns,
        tenths,
        lane.spans[0].lines[2:],
    )


def _chunk_rows(number: int, lane: Lane) -> list[Row]:
    return [
        Row(
            number,
            tr("chunk {number}", number=n),
            lane.token,
            piece.start_ns,
            piece.duration_ns,
            None,
            piece.lines[2:],
            is_part=True,
        )
        for n, piece in enumerate(lane.pieces, 1)
    ]


def _title(name: str, duration_ns: int) -> str:
    return f"{name}: {exact_ms(duration_ns)} ms"


def _from(start_ns: int) -> str:
    return tr("begins {time} ms after Send", time=exact_ms(start_ns))


def _rate(tokens_per_s: float | None) -> tuple[str, ...]:
    return () if tokens_per_s is None else (str(rate_quantity(tokens_per_s)),)


def _sentence(line: Timeline, lanes: Sequence[Lane], *, is_complete: bool) -> str:
    durations = [lane.duration_ns for lane in lanes if lane.name != PAINT]
    longest = max(range(len(durations)), key=durations.__getitem__)
    total = max(1, line.end_ns - line.sent_ns)
    values = {
        "first": _unbroken(line.ttft_ns),
        "whole": _unbroken(total),
        "stage": lanes[longest].label,
        "share": share_words(shares(durations)[longest]),
    }
    if is_complete:
        return tr(
            "First token after {first}, complete after {whole}; {stage} took {share} of it.",
            **values,
        )
    return tr("First token after {first}, {whole} so far; {stage} took {share} of it.", **values)


def _unbroken(duration_ns: int) -> str:
    """A duration that no line breaks between its number and its unit."""
    return str(duration_quantity(duration_ns)).replace(" ", "\u00a0")
