"""Conversations, and their messages as a tree."""

import sqlite3

STATEMENTS = (
    """
    CREATE TABLE conversations (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL DEFAULT '',
        title_is_custom INTEGER NOT NULL DEFAULT 0,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        draft TEXT NOT NULL DEFAULT '',
        active_leaf INTEGER REFERENCES messages(id) ON DELETE SET NULL,
        system_prompt TEXT,
        deleted_at REAL
    )
    """,
    """
    CREATE TABLE messages (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations(id) ON DELETE CASCADE,
        parent_id INTEGER REFERENCES messages(id) ON DELETE CASCADE,
        role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
        content TEXT NOT NULL DEFAULT '',
        status TEXT NOT NULL CHECK (status IN ('streaming', 'complete', 'partial', 'failed')),
        reason TEXT,
        timeline TEXT,
        model TEXT NOT NULL DEFAULT '',
        failure TEXT,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL
    )
    """,
    "CREATE INDEX messages_by_conversation ON messages(conversation_id)",
    "CREATE INDEX messages_by_parent ON messages(parent_id)",
    "CREATE INDEX conversations_by_update ON conversations(updated_at)",
)


def apply(connection: sqlite3.Connection) -> None:
    """Create the tables."""
    for statement in STATEMENTS:
        connection.execute(statement)
