"""Owners, blocks and ways of keeping the cache, in words."""

from collections.abc import Mapping

from engine.api import BlockRun, BlockState, CacheForm, CacheGroup
from ui.i18n import tr, tr_n
from ui.inspector.cache.picture import CachePicture, Owner, Total
from ui.widgets.units import UNKNOWN, bytes_quantity

_LEAST_TITLE = 24


def owner_name(owner: Owner) -> str:
    """As the legend says it."""
    match owner:
        case Owner.OWN:
            return tr("this chat")
        case Owner.SHARED:
            return tr("shared by chats")
        case Owner.OTHER:
            return tr("other chats")
        case Owner.EXPERIMENT:
            return tr("an experiment")
        case Owner.KEPT:
            return tr("kept, no chat's")
        case Owner.FREE:
            return tr("free")


def run_words(group: CacheGroup, run: BlockRun, titles: Mapping[str, str]) -> str:
    """Whose these blocks are, which tokens are in them, and how large they are: three lines."""
    blocks = tr_n("{n} block", "{n} blocks", run.count)
    size = f"{blocks} · {bytes_quantity(run.count * group.block_bytes)}"
    if run.state is BlockState.FREE:
        return f"{tr('Free')}\n{size}"
    lines = [_owners(run, titles)]
    if run.position is not None:
        first = f"{run.position + 1:,}"
        last = f"{run.position + run.count * group.block_size:,}"
        lines.append(tr("tokens {first} to {last}", first=first, last=last))
    is_kept = run.state is BlockState.KEPT
    lines.append(f"{size} · {tr('kept for reuse') if is_kept else tr('in use')}")
    return "\n".join(lines)


def _owners(run: BlockRun, titles: Mapping[str, str]) -> str:
    if not run.owners:
        return tr("Of an answer that ended, no chat's any more")
    names = [_title(owner, titles) for owner in run.owners]
    return tr(" and ").join(names)


def _title(owner: str, titles: Mapping[str, str]) -> str:
    if not owner:
        return tr("an experiment")
    title = titles.get(owner, "")
    if len(title) > _LEAST_TITLE:
        title = f"{title[:_LEAST_TITLE].rstrip()}…"
    return tr("“{title}”", title=title) if title else tr("an untitled chat")


def total_words(total: Total) -> str:
    """Bytes and tokens of an owner."""
    if not total.num_bytes:
        return UNKNOWN
    return f"{bytes_quantity(total.num_bytes)} · {total.num_tokens:,} tok"


def group_title(group: CacheGroup) -> str:
    """What the layers of a pool have in common."""
    layers = tr_n("{n} layer", "{n} layers", group.layers)
    if group.kind == "compressed":
        return tr("{layers} with a compressed cache", layers=layers)
    if group.window is None:
        return tr("{layers} that see everything", layers=layers)
    return tr("{layers} that see {n} tokens", layers=layers, n=f"{group.window:,}")


def kind_name(kind: str) -> str:
    """A kind of layers, as the engine names it."""
    names = {"full": tr("full"), "window": tr("window"), "compressed": tr("compressed")}
    return names.get(kind, kind)


def form_name(form: CacheForm) -> str:
    """A way of keeping the cache."""
    match form:
        case CacheForm.FP32:
            return tr("FP32")
        case CacheForm.BF16:
            return tr("16-bit")
        case CacheForm.INT8:
            return tr("INT8")
        case CacheForm.INT4:
            return tr("INT4")
        case CacheForm.ALL_HEADS:
            return tr("Without shared heads")
        case CacheForm.NO_WINDOW:
            return tr("Without the window")


def form_explained(form: CacheForm) -> str:
    """What such a cache would be, in a sentence; empty for the plain precisions."""
    match form:
        case CacheForm.ALL_HEADS:
            return tr("If every head of the model kept a key and a value of its own.")
        case CacheForm.NO_WINDOW:
            return tr("If all layers looked back over everything.")
        case _:
            return ""


def facts(picture: CachePicture) -> str:
    """Bytes a token, how they are kept, and how long they last: one line."""
    words = [
        tr("{size} a token", size=bytes_quantity(picture.bytes_per_token)),
        picture.dtype,
    ]
    left = picture.turns_left
    if left is not None:
        words.append(tr("~{n} turns left", n=f"{left:,}"))
    return " · ".join(word for word in words if word)


def summary(picture: CachePicture, found: Mapping[Owner, Total]) -> str:
    """The whole map in a sentence, for whoever does not see it."""
    parts = [
        f"{owner_name(owner)}: {total_words(total)}"
        for owner, total in found.items()
        if total.num_bytes
    ]
    budget = tr("{size} in all", size=bytes_quantity(picture.budget_bytes))
    return "; ".join([*parts, budget])
