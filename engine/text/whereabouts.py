"""Which message of a conversation a token of its prompt lies in.

A template writes the whole prompt at once, so this is found by writing parts of the conversation:
the prompt of its first messages is as that of all, up to about where these end. Knows messages and
a way to encode them; nothing of models.
"""

from collections.abc import Callable, Sequence

from engine.api import LeftOut, Message, Role
from engine.errors import EngineError
from engine.kv.reuse import common_beginning

Encode = Callable[[Sequence[Message]], list[int]]


def message_at(
    position: int,
    prompt_ids: Sequence[int],
    messages: Sequence[Message],
    left_out: LeftOut | None,
    encode: Encode,
) -> tuple[Role, int] | None:
    """Role and number, from 1 among all of that role, of the message with token ``position``.

    ``messages`` are those of the conversation, of which the prompt leaves ``left_out`` out. None
    where it lies behind them, or the template does not write their beginnings alone.
    """
    gap = (left_out.first, left_out.num_messages) if left_out is not None else (len(messages), 0)
    kept = [*messages[: gap[0]], *messages[sum(gap) :]]
    low, high = 0, len(kept)  # the first `low` messages end before it
    try:
        while low < high:
            middle = (low + high) // 2
            beginning = encode(kept[: middle + 1])
            if common_beginning(beginning, prompt_ids) > position:
                high = middle
            else:
                low = middle + 1
    except EngineError:
        return None
    if low == len(kept):
        return None
    index = low if low < gap[0] else low + gap[1]
    role = messages[index].role
    return role, sum(message.role == role for message in messages[: index + 1])
