"""Migrations: from an old file, with a copy kept, or not at all."""

import os
import signal
import sqlite3
import subprocess
import sys

import pytest

from app.store import database
from app.store.database import KEPT_BACKUPS, open_database
from app.store.migrations import MIGRATIONS, m0001_conversations


@pytest.fixture
def version_1(tmp_path):
    """A database as version 1 left it: no search index."""
    path = tmp_path / "conversations.sqlite3"
    connection = sqlite3.connect(path, isolation_level=None)
    m0001_conversations.apply(connection)
    connection.executescript(
        """
        INSERT INTO conversations(id, title, created_at, updated_at, active_leaf)
        VALUES (7, 'Tides', 1.0, 2.0, NULL);
        INSERT INTO messages(id, conversation_id, role, content, status, created_at, updated_at)
        VALUES (1, 7, 'user', 'Why two tides a day?', 'complete', 1.0, 1.0);
        INSERT INTO messages(
            id, conversation_id, parent_id, role, content, status, created_at, updated_at
        ) VALUES (2, 7, 1, 'assistant', 'The moon', 'streaming', 1.0, 1.0);
        UPDATE conversations SET active_leaf = 2 WHERE id = 7;
        PRAGMA user_version = 1;
        """
    )
    connection.close()
    return path


def test_an_old_file_is_brought_up_and_a_copy_kept(version_1, tmp_path):
    connection, damaged = open_database(version_1, tmp_path / "backups")
    assert damaged is None
    assert connection.execute("PRAGMA user_version").fetchone()[0] == len(MIGRATIONS)
    found = connection.execute(
        "SELECT rowid FROM message_index WHERE message_index MATCH 'tides'"
    ).fetchall()
    assert [row[0] for row in found] == [1]
    connection.close()
    (backup,) = (tmp_path / "backups").iterdir()
    copy = sqlite3.connect(backup)
    assert copy.execute("PRAGMA user_version").fetchone()[0] == 1
    assert copy.execute("SELECT content FROM messages").fetchone()[0] == "Why two tides a day?"
    copy.close()


def test_a_migration_that_fails_changes_nothing(version_1, tmp_path, monkeypatch):
    def broken(connection):
        connection.execute("DROP TABLE messages")
        connection.execute("SELECT nonsense")

    monkeypatch.setattr(database, "MIGRATIONS", (*MIGRATIONS[:1], broken))
    with pytest.raises(sqlite3.OperationalError, match="nonsense"):
        open_database(version_1, tmp_path / "backups")
    connection = sqlite3.connect(version_1)
    assert connection.execute("PRAGMA user_version").fetchone()[0] == 1
    assert connection.execute("SELECT count(*) FROM messages").fetchone()[0] == 2
    connection.close()


def test_only_the_latest_backups_stay(version_1, tmp_path):
    backups = tmp_path / "backups"
    backups.mkdir()
    for number in range(5):
        (backups / f"conversations-v0-2020010{number}.sqlite3").write_text("old")
    connection, _damaged = open_database(version_1, backups)
    connection.close()
    kept = sorted(path.name for path in backups.iterdir())
    assert len(kept) == KEPT_BACKUPS
    assert kept[-1].startswith("conversations-v1-")


@pytest.mark.skipif(os.name == "nt", reason="kill -9 is a POSIX thing")
def test_what_was_written_survives_kill_9(tmp_path):
    code = """
import os, signal, sys
from dataclasses import replace
from pathlib import Path
from app.store.store import Store
store = Store(Path(sys.argv[1]), Path(sys.argv[1] + ".backups"))
store.open()
turn = store.add_turn(None, None, "still there?", "m")
store.save_messages([replace(turn.answer, content="yes, this much")])
store._connection.execute("BEGIN IMMEDIATE")
store._connection.execute("UPDATE messages SET content = 'never committed'")
os.kill(os.getpid(), signal.SIGKILL)
"""
    path = tmp_path / "killed.sqlite3"
    done = subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    connection, damaged = open_database(path, tmp_path / "backups")
    assert damaged is None
    rows = connection.execute("SELECT content, status FROM messages ORDER BY id").fetchall()
    connection.close()
    assert [tuple(row) for row in rows] == [
        ("still there?", "complete"),
        ("yes, this much", "streaming"),
    ]
