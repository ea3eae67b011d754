"""What a model said to itself before an answer, beside the answer and outside the search index.

JSON of the text, its tokens and the time they took; NULL where there is none.
"""

import sqlite3


def apply(connection: sqlite3.Connection) -> None:
    """Add the column."""
    connection.execute("ALTER TABLE messages ADD COLUMN reasoning TEXT")
