"""The list: order, marks, rename, delete and undo, search."""

import pytest

from app.store.errors import StoreError
from engine.api import FinishReason, Message
from ui.sidebar.panel import Sidebar
from ui.sidebar.prompt_dialog import PromptDialog


@pytest.fixture
def sidebar(desk):
    return desk.window.findChild(Sidebar)


@pytest.fixture
def titles(desk, sidebar, monkeypatch):
    """Titles as they were last shown."""
    shown = []
    show = sidebar.set_conversations

    def record(rows):
        shown[:] = [row.title for row in rows]
        record.rows = list(rows)
        show(rows)

    record.rows = []
    monkeypatch.setattr(sidebar, "set_conversations", record)
    shown_rows = record
    shown_rows.titles = shown
    for question in ("the tide", "潮汐为什么", "a kraken"):
        desk.chat.open(None)
        desk.send(question)
        desk.play()
    return shown_rows


def test_latest_first(titles):
    assert titles.titles == ["a kraken", "潮汐为什么", "the tide"]


def test_what_is_written_to_comes_first(desk, sidebar, titles):
    sidebar.conversation_selected.emit(titles.rows[2].conversation_id)
    assert desk.texts[0] == "the tide"
    desk.send("more")
    desk.play()
    assert titles.titles[0] == "the tide"


def test_generating_conversations_are_marked(desk, titles):
    desk.send("more")
    desk.step(2)
    assert [row.is_generating for row in titles.rows] == [True, False, False]
    desk.play()
    assert not any(row.is_generating for row in titles.rows)


def test_choosing_the_open_one_again_changes_nothing(desk, sidebar, titles):
    desk.page.composer.set_text("not to be lost")
    sidebar.conversation_selected.emit(titles.rows[0].conversation_id)
    assert desk.page.composer.text() == "not to be lost"


def test_rename(sidebar, titles):
    sidebar.rename_requested.emit(titles.rows[0].conversation_id, "the kraken, mine")
    assert titles.titles[0] == "the kraken, mine"


def test_delete_closes_it_and_undo_brings_it_back(desk, sidebar, titles):
    gone = titles.rows[0].conversation_id
    sidebar.delete_requested.emit(gone)
    assert titles.titles == ["潮汐为什么", "the tide"]
    assert desk.texts == []
    sidebar.undo_delete_requested.emit(gone)
    assert titles.titles[0] == "a kraken"
    assert desk.texts[0] == "a kraken"


def test_deleting_stops_its_answer(desk, sidebar, titles):
    desk.send("more")
    desk.step(3)
    gone = titles.rows[0].conversation_id
    sidebar.delete_requested.emit(gone)
    desk.play()
    sidebar.undo_delete_requested.emit(gone)
    assert desk.rows[-1].reason is FinishReason.CANCELLED


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("kraken", ["a kraken"]),
        ("潮汐", ["潮汐为什么"]),
        ("world", ["a kraken", "潮汐为什么", "the tide"]),
        ("nowhere", []),
        ("  ", ["a kraken", "潮汐为什么", "the tide"]),
    ],
)
def test_search(sidebar, titles, query, found):
    sidebar.search_changed.emit(query)
    assert titles.titles == found


def test_the_answer_to_an_older_search_is_dropped(desk, sidebar, titles, monkeypatch):
    tasks = desk.application.services.tasks
    waiting = []
    run = tasks.run
    monkeypatch.setattr(tasks, "run", lambda *task: waiting.append(task))
    sidebar.search_changed.emit("kraken")
    sidebar.search_changed.emit("tide")
    monkeypatch.undo()
    monkeypatch.setattr(sidebar, "set_conversations", titles)
    for task in reversed(waiting):
        run(*task)
    assert titles.titles == ["the tide"]


def test_a_failing_store_is_one_sentence(desk, sidebar, titles, monkeypatch):
    def broken(*_arguments):
        raise StoreError("The disk went away.")

    monkeypatch.setattr(desk.store, "rename", broken)
    sidebar.rename_requested.emit(titles.rows[0].conversation_id, "x")
    assert desk.notices[-1] == "The disk went away."


@pytest.mark.usefixtures("titles")
def test_new_chat(desk, sidebar):
    sidebar.new_chat_requested.emit()
    assert desk.texts == []
    assert desk.chat.open_chat.conversation_id is None


def test_a_chat_has_a_system_prompt_of_its_own(desk, sidebar, titles):
    conversation_id = titles.rows[0].conversation_id
    sidebar.prompt_wanted.emit(conversation_id)
    (dialog,) = desk.window.findChildren(PromptDialog)
    assert not dialog.text.toPlainText()
    dialog.text.setPlainText("Speak like a sailor.\n")
    dialog._save()
    desk.send("more")
    desk.play()
    assert desk.engine.requests[-1].messages[0] == Message("system", "Speak like a sailor.")
    assert desk.store.conversation(conversation_id)[0].system_prompt == "Speak like a sailor."
    sidebar.prompt_changed.emit(conversation_id, "")
    desk.send("more")
    desk.play()
    assert desk.engine.requests[-1].messages[0].role == "user"
