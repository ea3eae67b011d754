"""Remembers what each conversation computed last, to say why the next prompt found less of it.

Plain Python: token ids in, a reason out. Outlives the models, since a change of model is a reason.
"""

from array import array
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.api import CacheMiss, MissKind
from engine.kv.hit import LEAST_COPIED
from engine.kv.manager import KVManager

MAX_CONVERSATIONS = 64
MAX_TOKENS = 1 << 21  # of four bytes, all conversations together
_STRIDE = 256


@dataclass(frozen=True, slots=True)
class CacheIdentity:
    """What keys and values depend on besides the tokens.

    ``model`` and ``precision`` (of weights and cache) outlive a load; ``load`` counts the loads of
    this process, each of which begins with an empty cache. ``rope``: what the context's length
    decided of the rotation of keys, and how they are balanced, if anything.
    """

    model: str
    precision: str
    load: int = 0
    rope: str = ""

    @property
    def lasting(self) -> str:
        """What must be the same, besides the model, where kept keys and values are used again."""
        return f"{self.precision}, {self.rope}" if self.rope else self.precision


@dataclass(frozen=True, slots=True)
class _Past:
    identity: CacheIdentity
    tokens: "array[int]"


class ReuseHistory:
    """The last tokens computed of the latest conversations, by conversation id."""

    def __init__(self, max_tokens: int = MAX_TOKENS) -> None:
        self._past: OrderedDict[str, _Past] = OrderedDict()
        self._max_tokens = max_tokens
        self._num_tokens = 0

    @property
    def num_tokens(self) -> int:
        """Tokens remembered."""
        return self._num_tokens

    def note(
        self, conversation_id: str, identity: CacheIdentity, token_ids: Sequence[int]
    ) -> None:
        """The conversation has computed ``token_ids``, from its beginning on."""
        self.forget(conversation_id)
        self._past[conversation_id] = _Past(identity, array("i", token_ids))
        self._num_tokens += len(token_ids)
        while len(self._past) > MAX_CONVERSATIONS or self._num_tokens > self._max_tokens:
            _oldest, past = self._past.popitem(last=False)
            self._num_tokens -= len(past.tokens)

    def forget(self, conversation_id: str) -> None:
        """Forget a conversation."""
        past = self._past.pop(conversation_id, None)
        if past is not None:
            self._num_tokens -= len(past.tokens)

    def tokens(self, conversation_id: str, identity: CacheIdentity) -> list[int]:
        """What the conversation computed last with this very model; empty when nothing."""
        past = self._past.get(conversation_id)
        return list(past.tokens) if past is not None and past.identity == identity else []

    def known(self, identity: CacheIdentity) -> Iterator[tuple[str, Sequence[int]]]:
        """All conversations that computed something with this very model, and what; not a copy."""
        for conversation_id, past in self._past.items():
            if past.identity == identity:
                yield conversation_id, past.tokens

    def explain(
        self,
        conversation_id: str | None,
        identity: CacheIdentity,
        prompt_ids: Sequence[int],
        num_cached: int,
        kv: KVManager,
    ) -> CacheMiss | None:
        """Why not more than ``num_cached`` tokens of the prompt were found; None: no more could be.

        The last token of a prompt is always computed: its logits are wanted.
        """
        most = len(prompt_ids) - 1
        if not kv.has_prefix_cache:
            return CacheMiss(MissKind.CACHE_OFF, 0, len(prompt_ids))
        past = None if conversation_id is None else self._past.get(conversation_id)
        if past is None:
            return _miss(MissKind.FIRST_TURN, num_cached, most - num_cached)
        shared = min(common_beginning(past.tokens, prompt_ids), most)
        if past.identity != identity:
            return _miss(_reloaded(past.identity, identity), num_cached, shared - num_cached)
        reusable = kv.num_reusable(shared)
        if evicted := _miss(MissKind.EVICTED, num_cached, reusable - num_cached):
            return evicted
        known = min(len(past.tokens), most)
        if num_cached <= shared < known:
            return _miss(MissKind.TEXT_CHANGED, shared, known - shared)
        return None if reusable else _miss(MissKind.SHORT, 0, shared)


def common_beginning(first: Sequence[int], second: Sequence[int]) -> int:
    """Length of the longest beginning that both have."""
    one, other = array("i", first), array("i", second)  # compared by their bytes
    end = min(len(one), len(other))
    start = 0
    while start < end and one[start : start + _STRIDE] == other[start : start + _STRIDE]:
        start += _STRIDE
    start = min(start, end)
    while start < end and one[start] == other[start]:
        start += 1
    return start


def _miss(kind: MissKind, position: int, num_lost: int) -> CacheMiss | None:
    """A miss; None where what was lost is not worth a copy, hence no loss."""
    return CacheMiss(kind, position, num_lost) if num_lost >= LEAST_COPIED else None


def _reloaded(before: CacheIdentity, now: CacheIdentity) -> MissKind:
    if before.model != now.model:
        return MissKind.MODEL_CHANGED
    if before.precision != now.precision:
        return MissKind.PRECISION_CHANGED
    return MissKind.RELOADED
