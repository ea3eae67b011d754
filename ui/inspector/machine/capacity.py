"""What a budget of the KV cache would give: how long a context, for how many chats at once."""

from collections.abc import Sequence

from engine.api import CacheGroup, ModelInfo
from ui.i18n import tr, tr_n


def bytes_of(groups: Sequence[CacheGroup], info: ModelInfo, num_tokens: int) -> int:
    """Bytes of one chat of so many tokens; layers with a window keep no more than that."""
    if not groups:
        return num_tokens * info.kv_bytes_per_token
    return round(
        sum(
            group.block_bytes / group.block_size * min(num_tokens, group.window or num_tokens)
            for group in groups
        )
    )


def context_in(groups: Sequence[CacheGroup], info: ModelInfo, num_bytes: int, wanted: int) -> int:
    """The longest context up to ``wanted`` tokens that ``num_bytes`` hold, in whole blocks."""
    low, high = 0, wanted
    while low < high:
        middle = (low + high + 1) // 2
        if bytes_of(groups, info, middle) <= num_bytes:
            low = middle
        else:
            high = middle - 1
    return low if low == wanted else low // info.kv_block_size * info.kv_block_size


def capacity_words(
    groups: Sequence[CacheGroup], info: ModelInfo, num_bytes: int, asked: int | None
) -> str:
    """One sentence; ``asked``: the context length that is set, None for the model's own."""
    wanted = min(asked or info.trained_context_length, info.trained_context_length)
    context = context_in(groups, info, num_bytes, wanted)
    if context < wanted:
        if asked is not None:
            return tr(
                "Too little for the context of {n} tokens that is set; {fits} would fit.",
                n=f"{wanted:,}",
                fits=f"{context:,}",
            )
        return tr("Gives a context of ~{n} tokens, for one chat.", n=f"{context:,}")
    streams = num_bytes // max(1, bytes_of(groups, info, wanted))
    chats = tr_n("{n} chat", "{n} chats", streams)
    return tr(
        "Gives the full context of {n} tokens to ~{chats} at once.", n=f"{wanted:,}", chats=chats
    )
