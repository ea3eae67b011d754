"""Finding conversations by what was said in them.

Words of three characters and more go through the trigram index; shorter ones (two characters are
a whole word in Chinese) and databases without the index are read through.
"""

import sqlite3

MIN_TRIGRAM = 3

BY_INDEX = """
    SELECT id FROM conversations WHERE deleted_at IS NULL AND (
        title LIKE :like ESCAPE '\\' OR id IN (
            SELECT conversation_id FROM messages WHERE id IN (
                SELECT rowid FROM message_index WHERE message_index MATCH :phrase
            )
        )
    )
"""
BY_READING = """
    SELECT id FROM conversations WHERE deleted_at IS NULL AND (
        title LIKE :like ESCAPE '\\' OR id IN (
            SELECT conversation_id FROM messages WHERE content LIKE :like ESCAPE '\\'
        )
    )
"""


def find(connection: sqlite3.Connection, query: str) -> list[int]:
    """Ids of the conversations in which each word of ``query`` stands somewhere; sorted."""
    words = query.replace("\0", " ").split()
    if not words:
        return []
    indexed = _has_index(connection)
    found: set[int] | None = None
    for word in words:
        statement = BY_INDEX if indexed and len(word) >= MIN_TRIGRAM else BY_READING
        rows = connection.execute(
            statement, {"like": f"%{_escaped(word)}%", "phrase": _quoted(word)}
        )
        ids = {row["id"] for row in rows}
        found = ids if found is None else found & ids
    return sorted(found or ())


def _has_index(connection: sqlite3.Connection) -> bool:
    statement = "SELECT 1 FROM sqlite_master WHERE name = 'message_index'"
    return connection.execute(statement).fetchone() is not None


def _escaped(word: str) -> str:
    for special in ("\\", "%", "_"):
        word = word.replace(special, f"\\{special}")
    return word


def _quoted(word: str) -> str:
    doubled = word.replace('"', '""')
    return f'"{doubled}"'
