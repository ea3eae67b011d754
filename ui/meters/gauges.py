"""KV cache and memory as parts of a bar, and how many turns are left. Pure functions."""

from dataclasses import dataclass

from engine.api import Device, EngineStats, ModelInfo
from ui.i18n import tr
from ui.widgets.parts_bar import Part
from ui.widgets.units import bytes_quantity


@dataclass(frozen=True, slots=True)
class ChatUse:
    """Tokens of the open chat and its turns; ``is_live``: its answer was computed for the gauges."""

    num_tokens: int = 0
    num_turns: int = 0
    is_live: bool = False


def kv_parts(
    stats: EngineStats, model: ModelInfo, chat: ChatUse, num_chats: int | None = None
) -> list[Part]:
    """This chat, other chats, kept blocks and free ones, in bytes; together the whole pool.

    ``num_chats`` had an answer written (None: not known); what ran while none had is an
    experiment. With one running request its live blocks are all live blocks; with several, this chat's are
    counted from its tokens.
    """
    live, cached = stats.kv_live_bytes, stats.kv_cached_bytes
    if not chat.is_live:
        own = 0
    elif stats.num_running <= 1:
        own = live
    else:
        own = _bytes_of(chat.num_tokens, stats, model.kv_block_size)
    named = [
        ("stage_decode", tr("this chat"), own),
        (
            "stage_tokenize",
            tr("an experiment") if num_chats == 0 else tr("other chats"),
            live - own,
        ),
        ("stage_queue", tr("kept for reuse"), cached),
    ]
    parts = []
    for token, name, num_bytes in named:
        size = str(bytes_quantity(num_bytes))
        parts.append(
            Part(token, num_bytes, f"{name} {size}" if num_bytes else "", f"{name} {size}")
        )
    free_bytes = max(0, stats.kv_total_bytes - live - cached)
    parts.append(Part("track", free_bytes, "", f"{tr('free')} {bytes_quantity(free_bytes)}"))
    return parts


def _bytes_of(num_tokens: int, stats: EngineStats, block_size: int) -> int:
    """Bytes of live blocks that a chat of so many tokens has, in each kind of layers."""
    total = 0
    for kind in stats.kv_by_kind:
        tokens = num_tokens if kind.window is None else min(num_tokens, kind.window)
        total += min(kind.live_blocks, -(-tokens // block_size)) * kind.block_bytes
    return total


def turns_left(stats: EngineStats, model: ModelInfo, chat: ChatUse) -> int | None:
    """Estimate from the mean tokens of a turn so far; None while no turn is known."""
    if chat.num_turns < 1 or chat.num_tokens < 1:
        return None
    room = model.context_length
    if stats.kv_by_kind[0].window is None:  # windows alone hold any number of tokens
        room = min(room, stats.kv_total_blocks * model.kv_block_size)
    room -= chat.num_tokens
    return max(0, room * chat.num_turns // chat.num_tokens)


def memory_parts(stats: EngineStats, device: Device) -> list[Part]:
    """Weights, KV, the rest of this program, other programs: bytes of this machine's memory.

    A CPU's pool takes memory as its blocks are written, so the blocks in use are counted; a GPU's
    is taken whole.
    """
    in_use = stats.kv_live_bytes + stats.kv_cached_bytes
    kv_bytes = stats.kv_allocated_bytes if device is Device.CUDA else in_use
    working = max(0, stats.process_bytes - stats.weights_bytes - kv_bytes)
    named = [
        ("stage_prefill", tr("weights"), stats.weights_bytes),
        ("stage_decode", tr("KV"), kv_bytes),
        ("stage_paint", tr("working"), working),
        ("stage_queue", tr("other programs"), stats.other_programs_bytes),
    ]
    parts = []
    for token, name, size in named:
        text = f"{name} {bytes_quantity(size)}"
        parts.append(Part(token, size, text if size else "", text))
    return parts
