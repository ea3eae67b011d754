"""What goes wrong is one clear sentence; nothing is lost and the app goes on."""

import sqlite3

import pytest

from engine.api import Failure
from engine.errors import (
    EngineError,
    ModelCorruptError,
    ModelMissingError,
    ModelUnsupportedError,
    OutOfMemoryError,
    PromptTooLongError,
)
from tests.helpers.desk import Desk
from tests.helpers.fake_engine import FakeEngine, Script
from ui.chat.rows import MessageStatus

pytestmark = pytest.mark.flow

LOAD_FAILURES = [
    ModelMissingError("Missing.", path="/m/gone.gguf"),
    ModelCorruptError("Corrupt.", path="/m/bad.gguf", reason="cut off after 12 bytes"),
    ModelUnsupportedError("Unsupported.", path="/m/new.gguf", feature="architecture warp9"),
    OutOfMemoryError("No room.", needed=40 << 30, available=8 << 30),
    EngineError("The engine met a fault of its own."),
]
ANSWER_FAILURES = [
    PromptTooLongError("Too long.", needed=9120, limit=8192),
    OutOfMemoryError("No room.", needed=40 << 30, available=8 << 30),
    EngineError("The engine met a fault of its own."),
]


@pytest.fixture
def open_desk(qtbot, isolated_home):
    made = []

    def open_app(script=None):
        desk = Desk(qtbot, isolated_home, script or Script(), is_immediate=False)
        made.append(desk)
        desk.application.begin()
        desk.wait(lambda: desk.is_open)
        return desk

    yield open_app
    for desk in made:
        desk.close()


def sentence_is_clear(text):
    return text.strip().endswith(".") and "\n" not in text and "Error" not in text


@pytest.mark.parametrize("error", LOAD_FAILURES, ids=lambda error: type(error).__name__)
def test_a_model_that_cannot_be_loaded(open_desk, error):
    desk = open_desk(Script(load_failure=Failure.of(error)))
    desk.play()
    (notice,) = desk.notices
    assert sentence_is_clear(notice)
    desk.send("kept?")
    desk.wait(lambda: len(desk.rows) == 2)
    desk.play()
    desk.wait(lambda: desk.rows[1].status is MessageStatus.FAILED)
    assert desk.texts[0] == "kept?"
    # another model makes the same question work
    desk.engine.script = Script()
    desk.window.model_file_chosen.emit("/m/good.gguf")
    desk.play()
    desk.page.regenerate_requested.emit(desk.rows[1].message_id)
    desk.wait(lambda: desk.chat.is_generating)
    desk.play()
    desk.wait(lambda: desk.texts == ["kept?", "Hello, world."])


@pytest.mark.parametrize("error", ANSWER_FAILURES, ids=lambda error: type(error).__name__)
def test_an_answer_that_cannot_be_computed(open_desk, error):
    desk = open_desk(Script(failure=Failure.of(error)))
    desk.play()
    desk.send("a very long prompt")
    desk.wait(lambda: len(desk.rows) == 2)
    desk.play()
    desk.wait(lambda: desk.rows[1].status is MessageStatus.FAILED)
    assert sentence_is_clear(desk.rows[1].failure)
    assert desk.texts == ["a very long prompt", "Hello, world."]
    desk.engine.script = Script()
    desk.send("again")
    desk.wait(lambda: len(desk.rows) == 4)
    desk.play()
    desk.wait(lambda: desk.rows[3].status is MessageStatus.COMPLETE)


def test_the_disk_fills_up_while_an_answer_streams(open_desk):
    long_answer = Script(pieces=("wave " * 200,) * 300)
    desk = open_desk(long_answer)
    desk.play()
    desk.send("fill it")
    desk.wait(lambda: len(desk.rows) == 2)

    def limit(pages):
        store = desk.store
        desk.application.services.tasks.run(
            lambda: store._connection.execute(f"PRAGMA max_page_count = {pages}")
        )

    limit(1)  # the file stays as large as it is
    desk.play()
    desk.wait(lambda: bool(desk.notices))
    assert "full" in desk.notices[0]
    assert desk.rows[1].status is MessageStatus.COMPLETE
    assert len(desk.texts[1]) == 300 * 1000
    more = "and more, " * 3000 + "!"  # more than fits into the free rest of a page
    desk.send(more)
    desk.wait(lambda: desk.page.composer.text() == more)
    limit(1_000_000)  # someone made room
    desk.wait(lambda: not desk.application.controllers.answers.has_unsaved)
    desk.send(more)
    desk.wait(lambda: len(desk.rows) == 4)
    desk.close()
    connection = sqlite3.connect(desk.paths.database)
    lengths = [row[0] for row in connection.execute("SELECT length(content) FROM messages")]
    connection.close()
    assert lengths[:3] == [len("fill it"), 300 * 1000, len(more)]


def test_a_damaged_database_is_moved_aside_and_said(open_desk, isolated_home, logfail):
    logfail.expect("The database is damaged")
    isolated_home.mkdir(parents=True)
    (isolated_home / "conversations.sqlite3").write_bytes(b"no database at all" * 400)
    desk = open_desk()
    assert "damaged" in desk.shown_notice
    desk.play()
    desk.send("goes on")
    desk.wait(lambda: len(desk.rows) == 2)
    assert list(isolated_home.glob("conversations-damaged-*.sqlite3"))


def test_a_database_of_a_later_version_is_left_alone(open_desk, isolated_home, logfail):
    logfail.expect("not saved in this run")
    isolated_home.mkdir(parents=True)
    path = isolated_home / "conversations.sqlite3"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 77")
    connection.close()
    desk = open_desk()
    assert "later version" in desk.shown_notice
    desk.play()
    desk.send("goes on")
    desk.wait(lambda: len(desk.rows) == 2)
    desk.close()
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA user_version").fetchone()[0] == 77
    assert connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    connection.close()


def test_an_engine_that_does_not_end_in_time_is_not_waited_for(open_desk, monkeypatch):
    desk = open_desk()
    monkeypatch.setattr(FakeEngine, "close", lambda _engine, _timeout_s: False)
    assert not desk.application.close()
