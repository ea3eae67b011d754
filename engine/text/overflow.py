"""Which messages of a conversation a prompt leaves out when the context is too short for all.

Whole turns only: a question with its answers. What is left out is counted in tokens of the
rendered prompt, never estimated. Knows messages and a way to encode them; nothing of models.
"""

from collections.abc import Callable, Sequence

from engine.api import GenerationRequest, LeftOut, Message, Overflow

Encode = Callable[[Sequence[Message]], list[int]]

# Room that is left for the answer, at most: tokens, and this part of the context.
_ROOM = 512
_ROOM_SHARE = 4
# Turns leave in strides of this part of the context, so that the next prompts begin alike and
# find that beginning in the cache.
_STRIDE_SHARE = 8


def fit_messages(
    request: GenerationRequest, whole: list[int], limit: int, encode: Encode
) -> tuple[list[int], LeftOut | None]:
    """The prompt's tokens with as few turns left out as its answer's room and the strides want.

    ``whole`` is the prompt with all messages; ``limit`` tokens can be known, one of them at least
    the answer's. Where even the last turn alone is too long, or the policy is to stop, ``whole``
    comes back. Raises what ``encode`` raises.
    """
    room = min(request.params.max_tokens or _ROOM, _ROOM, limit // _ROOM_SHARE)
    turns = _turns(request.messages)
    first = _first_to_go(turns, request.overflow)
    if len(whole) + room <= limit or first is None:
        return whole, None
    prompts = _Prompts(request.messages, turns, first, encode, whole)
    most = len(turns) - 1 - first
    if len(prompts.without(most)) + room > limit:
        room = 1  # the last question is that long: rather a short answer than none
    fewest = _smallest(most, lambda count: len(prompts.without(count)) + room <= limit)
    if len(prompts.without(fewest)) >= limit:
        return whole, None
    stride = max(1, limit // _STRIDE_SHARE)
    wanted = -(-prompts.num_saved(fewest) // stride) * stride
    count = _smallest(most, lambda count: prompts.num_saved(count) >= wanted)
    count = fewest if prompts.num_saved(count) < wanted else count
    if not count:
        return whole, None
    start = turns[first]
    left_out = LeftOut(start, turns[first + count] - start, prompts.num_saved(count))
    return prompts.without(count), left_out


class _Prompts:
    """The prompt with some turns left out, each encoded once."""

    def __init__(
        self,
        messages: Sequence[Message],
        turns: Sequence[int],
        first: int,
        encode: Encode,
        whole: list[int],
    ) -> None:
        self._messages = messages
        self._turns = turns
        self._first = first
        self._encode = encode
        self._known = {0: whole}

    def without(self, count: int) -> list[int]:
        """Tokens of the prompt without ``count`` turns."""
        if count not in self._known:
            start, end = self._turns[self._first], self._turns[self._first + count]
            self._known[count] = self._encode([*self._messages[:start], *self._messages[end:]])
        return self._known[count]

    def num_saved(self, count: int) -> int:
        """Tokens that leaving out ``count`` turns saves."""
        return len(self._known[0]) - len(self.without(count))


def _turns(messages: Sequence[Message]) -> list[int]:
    """Where each turn begins: at a question, the first one behind the system prompt."""
    starts = [index for index, message in enumerate(messages) if message.role == "user"]
    is_open = bool(messages) and messages[0].role == "assistant"
    return [0, *starts] if is_open else starts


def _first_to_go(turns: Sequence[int], overflow: Overflow) -> int | None:
    """The first turn that may be left out; None when none may."""
    kept = {Overflow.STOP: len(turns), Overflow.DROP_OLDEST: 0, Overflow.KEEP_ENDS: 1}[overflow]
    return kept if kept < len(turns) - 1 else None


def _smallest(most: int, is_enough: Callable[[int], bool]) -> int:
    """The smallest number up to ``most`` that is enough; ``most`` where none is."""
    low, high = 0, most
    while low < high:
        middle = (low + high) // 2
        if is_enough(middle):
            high = middle
        else:
            low = middle + 1
    return low
