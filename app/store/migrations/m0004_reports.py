"""What was observed of an answer, apart from it: read only where the inspector wants it.

``report`` is compressed JSON; it goes with its message.
"""

import sqlite3


def apply(connection: sqlite3.Connection) -> None:
    """Create the table."""
    connection.execute(
        """
        CREATE TABLE reports (
            message_id INTEGER PRIMARY KEY REFERENCES messages(id) ON DELETE CASCADE,
            report BLOB NOT NULL
        )
        """
    )
