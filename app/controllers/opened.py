"""The conversation that is open: its messages and the path that is shown. Plain state, no Qt."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from app.controllers.rows import row_of
from app.conversations import ChatMessage, Conversation, MessageTree
from ui.chat.rows import MessageRow


@dataclass(slots=True)
class OpenChat:
    """A conversation in the GUI thread; ``conversation_id`` None is a chat not begun yet."""

    conversation_id: int | None = None
    system_prompt: str | None = None
    tree: MessageTree = field(default_factory=MessageTree)
    leaf: int | None = None

    @classmethod
    def of(cls, conversation: Conversation, messages: Iterable[ChatMessage]) -> "OpenChat":
        """What the store gave. A leaf that is gone falls back to the newest branch."""
        tree = MessageTree(messages)
        leaf = conversation.active_leaf
        if leaf is None or leaf not in tree:
            leaf = max(tree.messages, default=None)
        return cls(conversation.conversation_id, conversation.system_prompt, tree, leaf)

    @property
    def path(self) -> tuple[ChatMessage, ...]:
        """The shown messages, first to last."""
        return self.tree.path(self.leaf)

    @property
    def last_answer(self) -> ChatMessage | None:
        """The latest answer on the path."""
        return next((m for m in reversed(self.path) if m.role == "assistant"), None)

    def path_to(self, message_id: int | None) -> tuple[ChatMessage, ...]:
        """The messages from the first to the given one."""
        return self.tree.path(message_id)

    def rows(self) -> list[MessageRow]:
        """The shown messages as the page wants them."""
        return [row_of(message, self.tree) for message in self.path]

    def row(self, message_id: int) -> MessageRow:
        """One message as the page wants it."""
        return row_of(self.tree[message_id], self.tree)

    def extend(self, *messages: ChatMessage) -> None:
        """Add saved messages; the last of them is the new end of the path."""
        for message in messages:
            self.tree.add(message)
            self.leaf = message.message_id

    def update(self, message: ChatMessage) -> bool:
        """Take a newer state of a message; False when it is not one of this conversation."""
        if message.message_id not in self.tree:
            return False
        self.tree.add(message)
        return True

    def is_shown(self, message_id: int) -> bool:
        """Whether the message stands on the shown path."""
        return any(message.message_id == message_id for message in self.path)

    def show_version(self, message_id: int, version: int) -> bool:
        """Turn the path to the given version (from 1) of a message; False when there is none."""
        versions = self.tree.versions(message_id)
        if not 1 <= version <= len(versions):
            return False
        self.leaf = self.tree.newest_leaf(versions[version - 1])
        return True
