"""The records the conversation list shows. Plain values; the controller makes them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation. ``updated_at``: seconds since the epoch."""

    conversation_id: int
    title: str
    updated_at: float
    is_generating: bool = False
