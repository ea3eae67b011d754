"""The database: what is written, found again, hidden and told."""

import sqlite3
from dataclasses import replace

import pytest

from app.conversations import ChatMessage
from app.store.errors import StoreError, StoreFullError, StoreNewerError
from app.store.store import Store
from engine.api import CacheMiss, Failure, FinishReason, LeftOut, MissKind, Timeline
from ui.chat.rows import MessageStatus

MISS = CacheMiss(MissKind.TEXT_CHANGED, 4, 7)
TIMELINE = Timeline(1, 2, 3, 4, 50, 60, 900, 0, 12, 4, 7, 70, MISS, LeftOut(1, 3, 99))


@pytest.fixture
def clock():
    return iter(range(1, 10_000))


@pytest.fixture
def make_store(tmp_path, clock):
    made = []

    def make(name="conversations.sqlite3"):
        store = Store(tmp_path / name, tmp_path / "backups", now=lambda: float(next(clock)))
        made.append(store)
        return store

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(make_store):
    store = make_store()
    assert store.open().failure is None
    return store


def reopened(store, make_store):
    store.close()
    again = make_store()
    report = again.open()
    return again, report


# ---------------------------------------------------------------------- turns and messages


def test_a_turn_is_a_question_and_a_waiting_answer(store):
    turn = store.add_turn(None, None, "Why is the sky blue?", "SmolLM2")
    assert turn.conversation.title == "Why is the sky blue?"
    assert turn.conversation.active_leaf == turn.answer.message_id
    assert turn.user.content == "Why is the sky blue?"
    assert turn.answer.parent_id == turn.user.message_id
    assert turn.answer.status is MessageStatus.STREAMING
    assert turn.answer.model == "SmolLM2"


def test_every_field_of_a_message_comes_back(store, make_store):
    turn = store.add_turn(None, None, "q", "m")
    whole = replace(
        turn.answer,
        content="Because 🌊 light 散射",
        status=MessageStatus.FAILED,
        reason=FinishReason.FAILED,
        timeline=TIMELINE,
        failure=Failure("out_of_memory", "No room.", {"needed": 3}),
    )
    store.save_messages([whole])
    again, _report = reopened(store, make_store)
    _conversation, messages = again.conversation(turn.conversation.conversation_id)
    assert messages == [turn.user, whole]


def test_the_title_stays_that_of_the_first_question(store):
    first = store.add_turn(None, None, "first", "m")
    second = store.add_turn(
        first.conversation.conversation_id, first.answer.message_id, "second", "m"
    )
    assert second.conversation.title == "first"
    store.rename(first.conversation.conversation_id, "mine")
    third = store.add_turn(
        first.conversation.conversation_id, second.answer.message_id, "third", "m"
    )
    assert third.conversation.title == "mine"


def test_conversations_come_latest_first(store):
    first = store.add_turn(None, None, "one", "m").conversation.conversation_id
    second = store.add_turn(None, None, "two", "m").conversation.conversation_id
    assert [c.conversation_id for c in store.conversations()] == [second, first]
    store.add_turn(first, None, "again", "m")
    assert [c.conversation_id for c in store.conversations()] == [first, second]


def test_other_answers_and_edits_grow_branches(store):
    turn = store.add_turn(None, None, "q", "m")
    conversation_id = turn.conversation.conversation_id
    other = store.add_answer(conversation_id, turn.user.message_id, "m2")
    assert other.parent_id == turn.user.message_id
    edited = store.add_message(
        ChatMessage(0, conversation_id, turn.user.message_id, "assistant", "x")
    )
    conversation, messages = store.conversation(conversation_id)
    assert conversation.active_leaf == edited.message_id
    assert len(messages) == 4
    store.set_active_leaf(conversation_id, turn.answer.message_id)
    assert store.conversation(conversation_id)[0].active_leaf == turn.answer.message_id


# ---------------------------------------------------------------------- drafts


def test_the_draft_of_a_chat_not_begun_is_kept_and_hidden_from_the_list(store, make_store):
    store.set_draft(None, "half a thou")
    assert store.conversations() == []
    again, _report = reopened(store, make_store)
    assert again.unstarted().draft == "half a thou"
    turn = again.add_turn(None, None, "half a thought", "m")
    assert turn.conversation.draft == ""
    assert again.unstarted() is None
    assert len(again.conversations()) == 1


def test_an_empty_draft_makes_no_conversation(store):
    store.set_draft(None, "")
    assert store.unstarted() is None


# ---------------------------------------------------------------------- delete and undo


def test_delete_hides_undo_brings_back_and_the_next_start_purges(store, make_store):
    kept = store.add_turn(None, None, "kept", "m").conversation.conversation_id
    gone = store.add_turn(None, None, "gone", "m").conversation.conversation_id
    store.delete(gone)
    assert [c.conversation_id for c in store.conversations()] == [kept]
    assert store.search("gone") == []
    store.undo_delete(gone)
    assert {c.conversation_id for c in store.conversations()} == {kept, gone}
    store.delete(gone)
    again, _report = reopened(store, make_store)
    with pytest.raises(StoreError):
        again.conversation(gone)
    assert again.conversation(kept)[1]


# ---------------------------------------------------------------------- search


@pytest.fixture
def library(store):
    texts = {
        "sky": "Why is the sky blue? Rayleigh scattering.",
        "wave": "潮汐为什么每天两次",
        "code": 'print("100% _done_")',
    }
    ids = {}
    for name, text in texts.items():
        ids[name] = store.add_turn(None, None, text, "m").conversation.conversation_id
    return ids


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("rayleigh", {"sky"}),
        ("SCATTER", {"sky"}),
        ("blue sky", {"sky"}),
        ("潮汐", {"wave"}),
        ("潮", {"wave"}),
        ("为什么每天", {"wave"}),
        ("100%", {"code"}),
        ("_done_", {"code"}),
        ('"100', {"code"}),
        ("%", {"code"}),
        ("blue 潮汐", set()),
        ("", set()),
        ("   ", set()),
        ("nothing like it", set()),
        ("sky\0", {"sky"}),
    ],
)
def test_search(store, library, query, found):
    assert store.search(query) == sorted(library[name] for name in found)


def test_search_reads_what_an_answer_says_when_it_has_ended(store):
    turn = store.add_turn(None, None, "q", "m")
    conversation_id = turn.conversation.conversation_id
    store.save_messages([replace(turn.answer, content="a kraken appe")])
    store.save_messages([replace(turn.answer, content="a kraken appeared")])
    done = replace(turn.answer, content="a kraken appeared", status=MessageStatus.COMPLETE)
    store.save_messages([done])
    assert store.search("kraken") == [conversation_id]
    store.save_messages([replace(done, content="a whale")])
    assert store.search("kraken") == []
    assert store.search("whale") == [conversation_id]


def test_search_without_the_index_reads_the_messages(store, library):
    store._connection.executescript("DROP TRIGGER message_index_insert; DROP TABLE message_index;")
    assert store.search("rayleigh") == [library["sky"]]


# ---------------------------------------------------------------------- recovery and damage


def test_an_answer_cut_off_by_the_end_is_partial_at_the_next_start(store, make_store):
    turn = store.add_turn(None, None, "q", "m")
    store.save_messages([replace(turn.answer, content="so far")])
    again, report = reopened(store, make_store)
    assert report.num_recovered == 1
    _conversation, messages = again.conversation(turn.conversation.conversation_id)
    assert messages[-1].status is MessageStatus.PARTIAL
    assert messages[-1].content == "so far"
    assert again.search("so far") == [turn.conversation.conversation_id]


def test_durability_is_set(store):
    connection = store._connection
    assert connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert connection.execute("PRAGMA synchronous").fetchone()[0] == 2
    assert connection.execute("PRAGMA foreign_keys").fetchone()[0] == 1


@pytest.mark.parametrize(
    "damage", [b"this is no database" * 500, b"SQLite format 3\0" + b"\xff" * 9000]
)
def test_a_damaged_file_is_moved_aside_and_kept(make_store, tmp_path, logfail, damage):
    logfail.expect("The database is damaged")
    (tmp_path / "conversations.sqlite3").write_bytes(damage)
    store = make_store()
    report = store.open()
    assert report.failure is None
    assert report.damaged is not None
    assert report.damaged.read_bytes() == damage
    assert store.add_turn(None, None, "goes on", "m")


def test_a_page_gone_bad_is_found_at_opening(store, make_store, tmp_path, logfail):
    logfail.expect("The database is damaged")
    for number in range(200):
        store.add_turn(None, None, f"question {number} " * 20, "m")
    store.close()
    path = tmp_path / "conversations.sqlite3"
    content = bytearray(path.read_bytes())
    content[4096 * 3 : 4096 * 12] = b"\xa5" * (4096 * 9)
    path.write_bytes(content)
    again = make_store()
    report = again.open()
    assert report.damaged is not None
    assert again.conversations() == []


def test_a_later_versions_file_is_refused_and_left_alone(store, make_store, tmp_path, logfail):
    logfail.expect("not saved in this run")
    store.add_turn(None, None, "from the future", "m")
    store._connection.execute("PRAGMA user_version = 99")
    again, report = reopened(store, make_store)
    assert report.failure.code == StoreNewerError.code
    assert "99" in report.failure.message
    assert again.conversations() == []
    again.add_turn(None, None, "this run only", "m")
    again.close()
    connection = sqlite3.connect(tmp_path / "conversations.sqlite3")
    assert connection.execute("SELECT count(*) FROM conversations").fetchone()[0] == 1
    connection.close()


def test_a_folder_that_cannot_be_used_keeps_the_app_going(tmp_path, logfail):
    logfail.expect("not saved in this run")
    (tmp_path / "file").write_text("")
    store = Store(tmp_path / "file" / "db.sqlite3", tmp_path / "backups")
    report = store.open()
    assert report.failure.code == "store_read_only"
    assert store.add_turn(None, None, "goes on", "m").user.content == "goes on"
    store.close()


def test_a_full_disk_is_one_sentence_and_loses_nothing_written_before(store, make_store):
    turn = store.add_turn(None, None, "before", "m")
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreFullError, match="disk is full"):
        store.save_messages([replace(turn.answer, content="x" * 1_000_000)])
    with pytest.raises(StoreFullError):
        store.add_turn(None, None, "y" * 1_000_000, "m")
    assert [c.title for c in store.conversations()] == ["before"]
    store._connection.execute("PRAGMA max_page_count = 100000")
    store.save_messages([replace(turn.answer, content="x" * 1_000_000)])
    again, _report = reopened(store, make_store)
    assert len(again.conversation(turn.conversation.conversation_id)[1][1].content) == 1_000_000


def test_a_file_locked_by_another_program_is_a_store_error(store, tmp_path):
    other = sqlite3.connect(tmp_path / "conversations.sqlite3", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    store._connection.execute("PRAGMA busy_timeout = 1")
    with pytest.raises(StoreError, match="locked"):
        store.add_turn(None, None, "q", "m")
    other.execute("ROLLBACK")
    other.close()
    assert store.add_turn(None, None, "q", "m")


def test_a_closed_store_says_so():
    store = Store("unused", "unused")
    store.close()
    with pytest.raises(StoreError):
        store.conversations()
