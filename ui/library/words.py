"""Facts and figures of the library in words."""

import re
from collections.abc import Mapping

from engine.api import ModelSheet, Precision, PrecisionFit
from ui.i18n import mark, tr, tr_n
from ui.library.rows import LibraryRow, OfferRow, SortKey, TransferRow, TransferStatus
from ui.widgets.about_time import about_time
from ui.widgets.units import bytes_quantity, parameters_short, short_number

_SORT_WORDS: Mapping[SortKey, str] = {
    SortKey.NAME: mark("By name"),
    SortKey.SIZE: mark("Largest first"),
    SortKey.NEWEST: mark("Newest first"),
}
_STATUS_WORDS: Mapping[TransferStatus, str] = {
    TransferStatus.QUEUED: mark("Waits for its turn"),
    TransferStatus.CHECKING: mark("Checking what is here already"),
    TransferStatus.WAITING: mark("The connection broke off; going on in a moment"),
    TransferStatus.STOPPED: mark("Stopped; what has arrived is kept"),
    TransferStatus.FAILED: mark("Stopped; what has arrived is kept"),
    TransferStatus.DONE: mark("Arrived whole, checksum right"),
}

# what no line break divides: the names that stores of other programs give to files
_LONG_WORD = re.compile(r"([^\s/\\]{22})[^\s/\\]{12,}([^\s/\\]{10})")


def sort_words(order: SortKey) -> str:
    """An order as its menu names it."""
    return tr(_SORT_WORDS[order])


def fit_notes(line: PrecisionFit, context_length: int) -> str:
    """What else is foreseen of a precision: speed, layers beside the GPU, a shorter context."""
    notes = []
    if line.decode_tokens_per_s is not None:
        rate = short_number(_rounded(line.decode_tokens_per_s))
        notes.append(tr("~{n} tokens/s at full context", n=rate))
    if line.cpu_layers:
        notes.append(tr_n("{n} layer on the CPU", "{n} layers on the CPU", line.cpu_layers))
    if 0 < line.largest_context < context_length:
        notes.append(tr("room for {n} tokens", n=f"{line.largest_context:,}"))
    return _joined(*notes)


def precision_words(precision: Precision) -> str:
    """A precision as people write it."""
    return precision.value.upper()


def summary(row: LibraryRow) -> str:
    """The second line of a model in the list."""
    size = str(bytes_quantity(row.num_bytes))
    if row.problem:
        return tr("{size} · cannot be used", size=size)
    if row.sheet is None:
        return tr("{size} · reading…", size=size)
    sheet = row.sheet
    return _joined(sheet.architecture, parameters_short(sheet.num_parameters), sheet.stored, size)


def offer_summary(row: OfferRow) -> str:
    """The second line of an offer."""
    files = "" if row.num_files == 1 else tr_n("{n} file", "{n} files", row.num_files)
    here = tr("on this computer") if row.is_here else ""
    return _joined(row.quant, str(bytes_quantity(row.num_bytes)), files, here)


def transfer_words(row: TransferRow) -> str:
    """How far a fetch is, its speed and the time left."""
    if row.problem:
        return row.problem
    done, total = str(bytes_quantity(row.done_bytes)), str(bytes_quantity(row.total_bytes))
    amount = total
    if row.status is not TransferStatus.DONE:
        amount = tr("{done} of {total}", done=done, total=total)
    if row.status is not TransferStatus.RUNNING:
        return _joined(amount, tr(_STATUS_WORDS[row.status]))
    rate = "" if row.bytes_per_s is None else f"{bytes_quantity(row.bytes_per_s)}/s"
    left = "" if row.seconds_left is None else tr("{time} left", time=about_time(row.seconds_left))
    return _joined(amount, rate, left)


def breakable(text: str) -> str:
    """The text with overlong words shortened in their middle, so that a narrow column wraps it."""
    return _LONG_WORD.sub(r"\1…\2", text)


def facts(row: LibraryRow, sheet: ModelSheet) -> list[tuple[str, str]]:
    """Label and value of each line of the details."""
    heads = str(sheet.num_heads)
    if sheet.num_kv_heads != sheet.num_heads:
        heads = tr(
            "{heads}, {kv_heads} for KV", heads=sheet.num_heads, kv_heads=sheet.num_kv_heads
        )
    files = "" if row.num_files == 1 else tr_n("{n} file", "{n} files", row.num_files)
    lines = [
        (tr("Name"), sheet.name),
        (tr("Architecture"), sheet.architecture),
        (tr("Parameters"), parameters_short(sheet.num_parameters)),
        (tr("Layers"), str(sheet.num_layers)),
        (tr("Heads"), heads),
        (tr("Vocabulary"), f"{sheet.vocab_size:,}"),
        (tr("Hidden size"), f"{sheet.hidden_size:,}"),
        (tr("Context"), tr("{n} tokens", n=f"{sheet.context_length:,}")),
        (tr("Stored as"), sheet.stored),
        (tr("Chat template"), tr("yes") if sheet.has_chat_template else tr("none")),
        (tr("Licence"), sheet.license or tr("not stated")),
        (tr("On disk"), _joined(str(bytes_quantity(row.num_bytes)), files)),
    ]
    return [(label, value) for label, value in lines if value]


def _rounded(value: float) -> float:
    """Two figures: a prediction has no more."""
    return float(f"{value:.2g}")


def _joined(*parts: str) -> str:
    return " · ".join(part for part in parts if part)
