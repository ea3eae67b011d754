"""kill -9 while an answer streams: the next start shows all but the last second, and says so."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.helpers.desk import Desk
from ui.chat.rows import MessageStatus

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(os.name == "nt", reason="kill -9 is a POSIX thing"),
]
ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60


def saved_answer(database):
    if not database.exists():
        return ""
    connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        row = connection.execute(
            "SELECT content FROM messages WHERE role = 'assistant'"
        ).fetchone()
    except sqlite3.OperationalError:  # the tables are not there yet
        row = None
    finally:
        connection.close()
    return row[0] if row else ""


def wait_for_checkpoint(process, database, num_characters):
    deadline = time.monotonic() + DEADLINE_S
    while len(saved_answer(database)) < num_characters:
        assert process.poll() is None, "the app ended by itself"
        assert time.monotonic() < deadline, "no checkpoint came"
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue


def test_the_partial_answer_is_there_and_marked(qtbot, isolated_home):
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.helpers.mid_answer", str(isolated_home), "Tell me of waves"],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
    )
    database = isolated_home / "conversations.sqlite3"
    try:
        wait_for_checkpoint(process, database, 500)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    said = saved_answer(database)

    desk = Desk(qtbot, isolated_home, is_immediate=False)
    desk.application.begin()
    desk.wait(lambda: len(desk.rows) == 2)
    assert desk.texts[0] == "Tell me of waves"
    assert desk.rows[1].status is MessageStatus.PARTIAL
    assert desk.rows[1].text == said
    assert desk.rows[1].text.startswith("wave wave")
    assert "what had come is kept" in desk.shown_notice
    desk.play()
    desk.page.continue_requested.emit(desk.rows[1].message_id)
    desk.wait(lambda: bool(desk.application.controllers.answers.generating()))
    desk.play()
    desk.wait(lambda: desk.rows[1].status is MessageStatus.COMPLETE)
    assert desk.rows[1].text == said + "Hello, world."
    desk.close()
