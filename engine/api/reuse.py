"""How much of a prompt was known already, and why not more; what was left out of it."""

from dataclasses import dataclass
from enum import StrEnum


class MissKind(StrEnum):
    """Why prompt tokens had to be computed that the cache could have held.

    FIRST_TURN: this conversation has computed nothing yet. TEXT_CHANGED: the prompt begins as the
    one before, then differs (an edit, another branch or system prompt, a template that writes
    past turns otherwise). EVICTED: others needed the room. MODEL_CHANGED, PRECISION_CHANGED,
    RELOADED: the model was loaded since, and its cache begins empty. SHORT: what both prompts
    share is less than a block. CACHE_OFF: nothing is kept.
    """

    FIRST_TURN = "first_turn"
    TEXT_CHANGED = "text_changed"
    EVICTED = "evicted"
    MODEL_CHANGED = "model_changed"
    PRECISION_CHANGED = "precision_changed"
    RELOADED = "reloaded"
    SHORT = "short"
    CACHE_OFF = "cache_off"


@dataclass(frozen=True, slots=True)
class CacheMiss:
    """Why a prompt was not taken from the cache as far as possible.

    ``position``: the first prompt token for which it holds (for TEXT_CHANGED the first that
    differs), from 0. ``num_lost``: prompt tokens that were computed for this reason. ``role`` and
    ``number``, from 1 among those of that role: the message with that token, where it was found.
    """

    kind: MissKind
    position: int
    num_lost: int
    role: str | None = None
    number: int = 0


class Overflow(StrEnum):
    """What is done when a conversation outgrows the context.

    STOP: the request fails and says so. DROP_OLDEST: the oldest turns are left out, the system
    prompt stays. KEEP_ENDS: turns after the first exchange are left out.
    """

    STOP = "stop"
    DROP_OLDEST = "drop_oldest"
    KEEP_ENDS = "keep_ends"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Messages of a request that its prompt leaves out: ``num_messages`` from index ``first`` on.

    ``num_tokens``: by how much the rendered prompt is shorter for it.
    """

    first: int
    num_messages: int
    num_tokens: int
