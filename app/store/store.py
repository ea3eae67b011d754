"""Conversations on disk. Every method runs on the one thread that opened the store.

Each writing method is one transaction, on disk when it returns. Failures are StoreErrors.
"""

import logging
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from app.conversations import ChatMessage, Conversation, title_from
from app.store import search
from app.store.codec import (
    INSERT_MESSAGE,
    UPDATE_MESSAGE,
    conversation_of,
    message_of,
    message_values,
)
from app.store.database import open_database, open_in_memory
from app.store.errors import StoreError, StoreReadOnlyError, store_error
from app.store.reports import decode_report, encode_report
from engine.api import AnswerReport, Failure
from ui.chat.rows import MessageStatus

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpenReport:
    """What opening found.

    ``num_recovered`` answers were cut off by the last run's end. ``damaged``: where an unreadable
    database was moved. ``failure``: why nothing is saved in this run, if that is so.
    """

    num_recovered: int = 0
    damaged: Path | None = None
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that was saved, with the empty answer that waits for its text."""

    conversation: Conversation
    user: ChatMessage
    answer: ChatMessage


class Store:
    """The database of conversations. Opening happens in ``open``, not in the constructor."""

    def __init__(self, path: Path, backups: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._backups = backups
        self._now = now
        self._connection: sqlite3.Connection | None = None

    # ------------------------------------------------------------------ life

    def open(self) -> OpenReport:
        """Open the file, or a database in memory where that fails; tidy what the last run left.

        Never raises for a disk that is full, read-only or damaged: the report says so.
        """
        try:
            self._connection, damaged = open_database(self._path, self._backups)
            return OpenReport(self._recover(), damaged)
        except StoreError as error:
            failure = error
        except sqlite3.Error as error:
            failure = store_error(error)
        except OSError as error:
            failure = StoreReadOnlyError(
                f"The folder of the conversations cannot be used ({error.strerror}), so nothing "
                "of this run is saved. Check its permissions."
            )
        logger.warning("Conversations are not saved in this run: %s", failure)
        self.close()
        self._connection = open_in_memory()
        return OpenReport(failure=Failure.of(failure))

    def close(self) -> None:
        """Close the file. Closing twice, or before opening, does nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    # ------------------------------------------------------------------ conversations

    def conversations(self) -> list[Conversation]:
        """Every conversation that has a message and is not deleted, latest first."""
        with self._reading() as connection:
            rows = connection.execute(
                "SELECT * FROM conversations "
                "WHERE deleted_at IS NULL AND active_leaf IS NOT NULL "
                "ORDER BY updated_at DESC, id DESC"
            ).fetchall()
        return [conversation_of(row) for row in rows]

    def conversation(self, conversation_id: int) -> tuple[Conversation, list[ChatMessage]]:
        """One conversation and all its messages in the order they were made."""
        with self._reading() as connection:
            messages = connection.execute(
                "SELECT * FROM messages WHERE conversation_id = ? ORDER BY id",
                (conversation_id,),
            ).fetchall()
            conversation = self._conversation(connection, conversation_id)
        return conversation, [message_of(row) for row in messages]

    def unstarted(self) -> Conversation | None:
        """The conversation without a message, which holds the draft of the next new chat."""
        with self._reading() as connection:
            found = self._unstarted_id(connection)
            return None if found is None else self._conversation(connection, found)

    def rename(self, conversation_id: int, title: str) -> None:
        """Give a conversation a title of the user's own."""
        self._write(
            "UPDATE conversations SET title = ?, title_is_custom = 1 WHERE id = ?",
            title,
            conversation_id,
        )

    def set_system_prompt(self, conversation_id: int, prompt: str | None) -> None:
        """Give a conversation a system prompt of its own; None: that of the settings."""
        self._write(
            "UPDATE conversations SET system_prompt = ? WHERE id = ?", prompt, conversation_id
        )

    def set_draft(self, conversation_id: int | None, draft: str) -> None:
        """Keep what stands in the composer; None is the chat that has not begun."""
        if conversation_id is None and not draft and self.unstarted() is None:
            return
        with self._writing() as connection:
            target = self._ensure(connection, conversation_id)
            connection.execute("UPDATE conversations SET draft = ? WHERE id = ?", (draft, target))

    def set_active_leaf(self, conversation_id: int, message_id: int) -> None:
        """Remember which branch is shown."""
        self._write(
            "UPDATE conversations SET active_leaf = ? WHERE id = ?", message_id, conversation_id
        )

    def delete(self, conversation_id: int) -> None:
        """Hide a conversation; it is gone for good at the next start."""
        self._write(
            "UPDATE conversations SET deleted_at = ? WHERE id = ?", self._now(), conversation_id
        )

    def undo_delete(self, conversation_id: int) -> None:
        """Bring a deleted conversation back."""
        self._write("UPDATE conversations SET deleted_at = NULL WHERE id = ?", conversation_id)

    def search(self, query: str) -> list[int]:
        """Ids of the conversations that hold every word of ``query`` in a title or a message."""
        with self._reading() as connection:
            return search.find(connection, query)

    # ------------------------------------------------------------------ messages

    def add_turn(
        self, conversation_id: int | None, parent_id: int | None, text: str, model: str
    ) -> Turn:
        """Save a question and the answer to come, in a new conversation if none is given."""
        with self._writing() as connection:
            target = self._ensure(connection, conversation_id)
            user = self._insert(connection, ChatMessage(0, target, parent_id, "user", text))
            answer = self._insert(connection, _answer(target, user, model))
            connection.execute(
                "UPDATE conversations SET draft = '', updated_at = ?, active_leaf = ?, title = "
                "CASE WHEN title = '' THEN ? ELSE title END WHERE id = ?",
                (self._now(), answer, title_from(text), target),
            )
            return Turn(
                self._conversation(connection, target),
                self._message(connection, user),
                self._message(connection, answer),
            )

    def add_answer(self, conversation_id: int, parent_id: int, model: str) -> ChatMessage:
        """Save another answer to come under a question."""
        return self.add_message(_answer(conversation_id, parent_id, model))

    def add_message(self, message: ChatMessage) -> ChatMessage:
        """Save a message under its parent and show its branch; its id is chosen here."""
        with self._writing() as connection:
            saved = self._insert(connection, message)
            connection.execute(
                "UPDATE conversations SET updated_at = ?, active_leaf = ? WHERE id = ?",
                (self._now(), saved, message.conversation_id),
            )
            return self._message(connection, saved)

    def save_messages(self, messages: Sequence[ChatMessage]) -> None:
        """Write the present text and state of messages that were added before."""
        with self._writing() as connection:
            for message in messages:
                connection.execute(UPDATE_MESSAGE, message_values(message, self._now()))

    def add_conversations(
        self, chats: Sequence[tuple[Conversation, Sequence[ChatMessage]]]
    ) -> list[int]:
        """Save whole conversations under ids of their own, all or none; returns these.

        Each message comes after the one it answers. The ids given hold within a conversation alone.
        """
        with self._writing() as connection:
            return [self._add_conversation(connection, *chat) for chat in chats]

    # ------------------------------------------------------------------ reports

    def save_report(self, message_id: int, report: AnswerReport) -> None:
        """Keep what was observed of an answer, in place of an earlier report of it."""
        stored = encode_report(report)
        with self._writing() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO reports(message_id, report) "
                "SELECT id, ? FROM messages WHERE id = ?",  # a message that is gone has none
                (stored, message_id),
            )

    def report(self, message_id: int) -> AnswerReport | None:
        """What was observed of an answer; None where that is not known, or cannot be read."""
        with self._reading() as connection:
            row = connection.execute(
                "SELECT report FROM reports WHERE message_id = ?", (message_id,)
            ).fetchone()
        return None if row is None else decode_report(row["report"])

    # ------------------------------------------------------------------ inside

    def _recover(self) -> int:
        with self._writing() as connection:
            connection.execute("DELETE FROM conversations WHERE deleted_at IS NOT NULL")
            return connection.execute(
                "UPDATE messages SET status = 'partial' WHERE status = 'streaming'"
            ).rowcount

    def _unstarted_id(self, connection: sqlite3.Connection) -> int | None:
        row = connection.execute(
            "SELECT id FROM conversations WHERE active_leaf IS NULL AND deleted_at IS NULL "
            "ORDER BY id LIMIT 1"
        ).fetchone()
        return None if row is None else row["id"]

    def _ensure(self, connection: sqlite3.Connection, conversation_id: int | None) -> int:
        if conversation_id is not None:
            return conversation_id
        if (found := self._unstarted_id(connection)) is not None:
            return found
        now = self._now()
        cursor = connection.execute(
            "INSERT INTO conversations(created_at, updated_at) VALUES (?, ?)", (now, now)
        )
        return _new_id(cursor)

    def _add_conversation(
        self,
        connection: sqlite3.Connection,
        conversation: Conversation,
        messages: Sequence[ChatMessage],
    ) -> int:
        now = self._now()
        cursor = connection.execute(
            "INSERT INTO conversations(title, system_prompt, created_at, updated_at) "
            "VALUES (?, ?, ?, ?)",
            (conversation.title, conversation.system_prompt, now, now),
        )
        target = _new_id(cursor)
        saved: dict[int | None, int | None] = {None: None}
        for message in messages:
            moved = replace(message, conversation_id=target, parent_id=saved[message.parent_id])
            saved[message.message_id] = self._insert(connection, moved)
        connection.execute(
            "UPDATE conversations SET active_leaf = ? WHERE id = ?",
            (saved[conversation.active_leaf], target),
        )
        return target

    def _insert(self, connection: sqlite3.Connection, message: ChatMessage) -> int:
        cursor = connection.execute(INSERT_MESSAGE, message_values(message, self._now()))
        return _new_id(cursor)

    def _conversation(self, connection: sqlite3.Connection, conversation_id: int) -> Conversation:
        row = connection.execute(
            "SELECT * FROM conversations WHERE id = ?", (conversation_id,)
        ).fetchone()
        if row is None:
            raise StoreError("This conversation is no longer there.", reason="no such row")
        return conversation_of(row)

    def _message(self, connection: sqlite3.Connection, message_id: int) -> ChatMessage:
        row = connection.execute("SELECT * FROM messages WHERE id = ?", (message_id,)).fetchone()
        return message_of(row)

    def _write(self, statement: str, *values: str | float | None) -> None:
        with self._writing() as connection:
            connection.execute(statement, values)

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        if self._connection is None:
            raise StoreError("The conversations are closed.", reason="closed")
        try:
            yield self._connection
        except sqlite3.Error as error:
            raise store_error(error) from error

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._reading() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                # a full disk may have rolled back already
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise


def _answer(conversation_id: int, parent_id: int, model: str) -> ChatMessage:
    return ChatMessage(
        0,
        conversation_id,
        parent_id,
        "assistant",
        "",
        status=MessageStatus.STREAMING,
        model=model,
    )


def _new_id(cursor: sqlite3.Cursor) -> int:
    assert cursor.lastrowid is not None
    return cursor.lastrowid
