"""What the Cache view shows, as plain records, and the figures that follow from them.

Pure functions over the engine's map of the cache; no widget.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.api import BlockRun, BlockState, CacheGroup, CacheWay, KeptBytes


class Owner(StrEnum):
    """Whose a block is, for a reader of one chat.

    SHARED: of this chat and of others, or of several others. EXPERIMENT: of no chat. KEPT: of an
    ended answer whose chat is not known, or has moved on.
    """

    OWN = "own"
    SHARED = "shared"
    OTHER = "other"
    EXPERIMENT = "experiment"
    KEPT = "kept"
    FREE = "free"


@dataclass(frozen=True, slots=True)
class Chat:
    """The chat that is open: its id as the engine knows it, tokens and turns so far.

    ``is_growing``: its answer is being written.
    """

    conversation_id: str = ""
    num_tokens: int = 0
    num_turns: int = 0
    is_growing: bool = False


@dataclass(frozen=True, slots=True)
class WayUse:
    """A way of keeping the cache. ``setting``: the value that chooses it, "" where none does.

    ``quality``: what was measured of its loss, in words.
    """

    way: CacheWay
    setting: str = ""
    is_chosen: bool = False
    quality: str = ""


@dataclass(frozen=True, slots=True)
class CachePicture:
    """One look at the cache. ``titles`` of chats by their ids; ``kinds``: of the last answer.

    ``context_length`` in tokens; ``dtype`` as the engine names it.
    """

    groups: tuple[CacheGroup, ...]
    chat: Chat = field(default_factory=Chat)
    titles: Mapping[str, str] = field(default_factory=dict)
    kinds: tuple[KeptBytes, ...] = ()
    ways: tuple[WayUse, ...] = ()
    context_length: int = 0
    dtype: str = ""
    needs_reload: bool = False

    @property
    def budget_bytes(self) -> int:
        """Bytes of all blocks."""
        return sum(group.block_bytes * num_blocks(group.runs) for group in self.groups)

    @property
    def limit_tokens(self) -> int:
        """Tokens that one chat can have: of the context, and of the blocks."""
        pools = [num_blocks(g.runs) * g.block_size for g in self.groups if g.window is None]
        return min(self.context_length, *pools) if pools else self.context_length

    @property
    def bytes_per_token(self) -> int:
        """Bytes of one token while every layer sees it."""
        return round(sum(group.block_bytes / group.block_size for group in self.groups))

    @property
    def turns_left(self) -> int | None:
        """About how many turns fit, by the mean of those so far; None while there is none."""
        chat = self.chat
        if chat.num_turns < 1 or chat.num_tokens < 1:
            return None
        room = max(0, self.limit_tokens - chat.num_tokens)
        return room * chat.num_turns // chat.num_tokens

    def bytes_of(self, num_tokens: int) -> int:
        """Bytes of a chat of so many tokens; layers with a window keep no more than that."""
        return round(
            sum(
                group.block_bytes / group.block_size * min(num_tokens, group.window or num_tokens)
                for group in self.groups
            )
        )


@dataclass(frozen=True, slots=True)
class Total:
    """What one owner has: bytes of all layers, and tokens (those of the first pool's blocks)."""

    num_bytes: int = 0
    num_tokens: int = 0
    kept_bytes: int = 0


def owner_of(run: BlockRun, conversation_id: str) -> Owner:
    """Whose a run is for a reader of ``conversation_id``."""
    if run.state is BlockState.FREE:
        return Owner.FREE
    if len(run.owners) > 1:
        return Owner.SHARED
    if not run.owners:
        return Owner.KEPT
    if run.owners == ("",):
        return Owner.EXPERIMENT
    is_own = run.owners == (conversation_id,)
    return Owner.OWN if is_own else Owner.OTHER


def num_blocks(runs: Iterable[BlockRun]) -> int:
    """All blocks."""
    return sum(run.count for run in runs)


def totals(picture: CachePicture) -> dict[Owner, Total]:
    """What each owner has, free blocks among them."""
    found = {owner: Total() for owner in Owner}
    for number, group in enumerate(picture.groups):
        for run in group.runs:
            owner = owner_of(run, picture.chat.conversation_id)
            size = run.count * group.block_bytes
            before = found[owner]
            found[owner] = Total(
                before.num_bytes + size,
                before.num_tokens + (0 if number else run.count * group.block_size),
                before.kept_bytes + (size if run.state is BlockState.KEPT else 0),
            )
    return found


def growth(picture: CachePicture) -> list[tuple[int, int]]:
    """Points (tokens, bytes) of this chat's cache up to its limit: straight between them."""
    limit = picture.limit_tokens
    bends = {group.window for group in picture.groups if group.window}
    places = sorted({0, limit, *(bend for bend in bends if bend < limit)})
    return [(place, picture.bytes_of(place)) for place in places]
