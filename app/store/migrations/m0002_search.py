"""Full-text search over what is said, where this SQLite has the trigram tokenizer.

The index refers to the messages' own text. A streaming answer is left out until it ends: its
text changes every second. Without trigrams (SQLite before 3.34) search reads the messages.
"""

import sqlite3

STATEMENTS = (
    """
    CREATE VIRTUAL TABLE message_index USING fts5(
        content, content='messages', content_rowid='id', tokenize='trigram'
    )
    """,
    """
    INSERT INTO message_index(rowid, content)
    SELECT id, content FROM messages WHERE status <> 'streaming'
    """,
    """
    CREATE TRIGGER message_index_insert AFTER INSERT ON messages
    WHEN new.status <> 'streaming' BEGIN
        INSERT INTO message_index(rowid, content) VALUES (new.id, new.content);
    END
    """,
    """
    CREATE TRIGGER message_index_forget BEFORE UPDATE OF content, status ON messages
    WHEN old.status <> 'streaming' BEGIN
        INSERT INTO message_index(message_index, rowid, content)
        VALUES ('delete', old.id, old.content);
    END
    """,
    """
    CREATE TRIGGER message_index_learn AFTER UPDATE OF content, status ON messages
    WHEN new.status <> 'streaming' BEGIN
        INSERT INTO message_index(rowid, content) VALUES (new.id, new.content);
    END
    """,
    """
    CREATE TRIGGER message_index_delete AFTER DELETE ON messages
    WHEN old.status <> 'streaming' BEGIN
        INSERT INTO message_index(message_index, rowid, content)
        VALUES ('delete', old.id, old.content);
    END
    """,
)


def apply(connection: sqlite3.Connection) -> None:
    """Create the index and fill it with what is there."""
    if not _has_trigrams():
        return
    for statement in STATEMENTS:
        connection.execute(statement)


def _has_trigrams() -> bool:
    probe = sqlite3.connect(":memory:")
    try:
        probe.execute("CREATE VIRTUAL TABLE probe USING fts5(x, tokenize='trigram')")
    except sqlite3.OperationalError:
        return False
    finally:
        probe.close()
    return True
