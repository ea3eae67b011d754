"""Asking, streaming, stopping, branching, and what is on disk at each moment."""

from app.store.errors import StoreFullError
from engine.api import Failure, FinishReason, LeftOut, Message, Overflow, Prioritise
from engine.errors import OutOfMemoryError
from tests.helpers.fake_engine import Script
from ui.chat.rows import MessageStatus
from ui.chat.token_count import ContextUse

ANSWER = "Hello, world."


# ---------------------------------------------------------------------- asking


def test_a_question_is_on_disk_before_the_engine_hears_of_it(desk):
    desk.send("Why is the sky blue?")
    assert desk.engine.requests == []
    assert [m.content for m in desk.stored()] == ["Why is the sky blue?", ""]
    assert desk.texts == ["Why is the sky blue?", ""]
    desk.play()
    assert desk.engine.requests[0].messages == (Message("user", "Why is the sky blue?"),)


def test_an_answer_streams_ends_and_is_saved(desk):
    desk.send("Hi")
    desk.step(4)
    assert desk.texts[1] != ""
    assert desk.rows[1].status is MessageStatus.STREAMING
    assert desk.chat.is_generating
    desk.play()
    assert desk.texts == ["Hi", ANSWER]
    row = desk.rows[1]
    assert row.status is MessageStatus.COMPLETE
    assert row.stats.reason is FinishReason.END_OF_TEXT
    assert row.stats.timeline.num_output_tokens == 4
    assert not desk.chat.is_generating
    saved = desk.stored()[1]
    assert (saved.content, saved.status) == (ANSWER, MessageStatus.COMPLETE)
    assert saved.timeline == row.stats.timeline


def test_the_whole_conversation_is_the_prompt_with_the_system_prompt_first(desk):
    desk.application.services.settings.set("system_prompt", "Be brief.")
    desk.send("one")
    desk.play()
    desk.send("two")
    desk.play()
    assert desk.engine.requests[1].messages == (
        Message("system", "Be brief."),
        Message("user", "one"),
        Message("assistant", ANSWER),
        Message("user", "two"),
    )


def test_sampling_settings_go_with_the_next_answer(desk):
    desk.application.services.settings.set("temperature", 0.0)
    desk.application.services.settings.set("max_tokens", 7)
    desk.send("one")
    desk.play()
    assert desk.engine.requests[0].params.temperature == 0.0
    assert desk.engine.requests[0].params.max_tokens == 7


def test_a_second_question_meanwhile_is_kept_in_the_composer(desk):
    desk.send("one")
    desk.step(2)
    desk.page.send_requested.emit("two")
    assert desk.page.composer.text() == "two"
    assert desk.texts[0] == "one"
    assert len(desk.stored()) == 2


def test_a_message_typed_while_the_model_loads_waits_for_it(make_desk):
    desk = make_desk()
    desk.application.begin()
    desk.send("early")
    assert desk.rows[1].status is MessageStatus.STREAMING
    desk.play()
    assert desk.texts == ["early", ANSWER]


def test_without_a_model_the_question_is_kept_and_the_answer_says_why(make_desk):
    desk = make_desk(has_model=False).begin()
    desk.send("anyone?")
    desk.play()
    assert desk.rows[1].status is MessageStatus.FAILED
    assert "No model is loaded" in desk.rows[1].failure
    assert [m.content for m in desk.stored()] == ["anyone?", ""]


# ---------------------------------------------------------------------- stop and failure


def test_stop_keeps_what_was_said(desk):
    desk.send("Hi")
    desk.step(5)
    said = desk.texts[1]
    assert said
    desk.page.stop_requested.emit()
    desk.play()
    row = desk.rows[1]
    assert (row.text, row.reason) == (said, FinishReason.CANCELLED)
    assert desk.stored()[1].content == said
    assert not desk.chat.is_generating


def test_a_failure_keeps_the_text_and_is_one_sentence(make_desk):
    failure = Failure.of(OutOfMemoryError("No room.", needed=2 << 30, available=1 << 30))
    desk = make_desk(Script(failure=failure)).begin()
    desk.send("Hi")
    desk.play()
    row = desk.rows[1]
    assert row.status is MessageStatus.FAILED
    assert row.text == ANSWER
    assert "memory" in row.failure
    assert desk.stored()[1].failure == failure
    desk.send("again")
    assert desk.chat.is_generating


def test_an_empty_failed_answer_is_no_part_of_the_next_prompt(make_desk):
    desk = make_desk(has_model=False).begin()
    desk.send("one")
    desk.play()
    desk.send("two")
    desk.play()
    assert desk.engine.requests[1].messages == (Message("user", "one\n\ntwo"),)


def test_a_full_disk_gives_the_question_back(desk, monkeypatch):
    def full(*_arguments):
        raise StoreFullError("The disk is full.")

    monkeypatch.setattr(desk.store, "add_turn", full)
    desk.send("precious words")
    assert desk.page.composer.text() == "precious words"
    assert any("full" in notice for notice in desk.notices)
    assert desk.engine.requests == []
    monkeypatch.undo()
    desk.send("precious words")
    desk.play()
    assert desk.texts == ["precious words", ANSWER]


def test_an_answer_that_cannot_be_saved_is_saved_when_it_can(desk, monkeypatch):
    desk.send("Hi")
    desk.step(5)

    def full(*_arguments):
        raise StoreFullError("The disk is full.")

    monkeypatch.setattr(desk.store, "save_messages", full)
    desk.play()
    assert desk.texts[1] == ANSWER
    assert desk.stored()[1].status is MessageStatus.STREAMING
    desk.application.controllers.answers.save()
    assert sum("full" in notice for notice in desk.notices) == 1
    monkeypatch.undo()
    desk.application.controllers.answers.save()
    assert desk.stored()[1].content == ANSWER


def test_a_streaming_answer_is_checkpointed(desk):
    desk.send("Hi")
    desk.step(5)
    desk.application.controllers.answers.save()
    saved = desk.stored()[1]
    assert saved.content == desk.texts[1] != ""
    assert saved.status is MessageStatus.STREAMING


# ---------------------------------------------------------------------- leaving and coming back


def test_one_may_leave_a_streaming_answer_and_come_back(desk):
    desk.send("first chat")
    desk.step(4)
    first = desk.chat.open_chat.conversation_id
    so_far = desk.texts[1]
    desk.chat.open(None)
    assert desk.texts == []
    assert not desk.chat.is_generating
    desk.step(1)
    desk.chat.open(first)
    assert desk.texts[1].startswith(so_far)
    assert len(desk.texts[1]) > len(so_far)
    assert desk.chat.is_generating
    desk.play()
    assert desk.texts == ["first chat", ANSWER]


def test_several_conversations_generate_at_once(desk):
    desk.send("one")
    desk.step(3)
    first = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    desk.send("two")
    desk.step(3)
    assert desk.application.controllers.answers.generating() == {
        first,
        desk.chat.open_chat.conversation_id,
    }
    desk.page.stop_requested.emit()
    desk.play()
    assert desk.rows[1].reason is FinishReason.CANCELLED
    desk.chat.open(first)
    assert desk.texts == ["one", ANSWER]
    assert desk.rows[1].reason is FinishReason.END_OF_TEXT


def test_an_answer_that_ended_elsewhere_is_whole_when_one_comes_back(desk):
    desk.send("one")
    desk.step(3)
    first = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    desk.play()
    desk.chat.open(first)
    assert desk.texts == ["one", ANSWER]
    assert desk.rows[1].stats is not None


def test_a_version_switched_away_from_goes_on_streaming(desk):
    desk.send("Hi")
    desk.play()
    desk.page.regenerate_requested.emit(desk.rows[1].message_id)
    desk.step(4)
    live = desk.rows[1].message_id
    desk.page.version_requested.emit(live, 1)
    assert desk.texts[1] == ANSWER
    desk.step(1)
    desk.page.version_requested.emit(desk.rows[1].message_id, 2)
    assert desk.texts[1]
    desk.play()
    assert desk.texts[1] == ANSWER
    assert desk.rows[1].message_id == live


# ---------------------------------------------------------------------- drafts and counts


def test_drafts_belong_to_their_conversation(desk):
    desk.send("one")
    desk.play()
    first = desk.chat.open_chat.conversation_id
    desk.page.composer.input.set_text("half of one")
    desk.chat.open(None)
    assert desk.page.composer.text() == ""
    desk.page.composer.input.set_text("half of a new one")
    desk.chat.open(first)
    assert desk.page.composer.text() == "half of one"
    desk.chat.open(None)
    assert desk.page.composer.text() == "half of a new one"


def test_a_sent_draft_does_not_come_back(desk):
    desk.page.composer.input.set_text("a thought")
    desk.page.composer.flush_draft()
    desk.send("a thought")
    desk.play()
    desk.chat.open(None)
    assert desk.page.composer.text() == ""


def test_the_newest_count_of_tokens_is_shown_with_the_context(desk, monkeypatch):
    shown = []
    monkeypatch.setattr(desk.page, "set_token_count", lambda *values: shown.append(values))
    desk.page.count_requested.emit("one two")
    desk.page.count_requested.emit("one two three")
    desk.play()
    assert shown == [(3, ContextUse(2048))]
    desk.send("go")
    desk.play()
    assert shown[-1][1:] == (ContextUse(2048, used=16),)


def test_a_prompt_near_the_end_of_the_context_is_counted_whole(make_desk, monkeypatch):
    desk = make_desk(Script(context_length=40)).begin()
    desk.send("one two three")
    desk.play()
    shown = []
    monkeypatch.setattr(desk.page, "set_token_count", lambda *values: shown.append(values))
    desk.page.count_requested.emit("four five six seven " * 4)
    desk.play()
    assert shown[-1] == (16, ContextUse(40, used=16, prompt=3 + 2 + 16))


def test_an_answer_says_what_it_does_not_see_at_once_and_for_good(make_desk):
    left_out = LeftOut(1, 3, 1_204)
    desk = make_desk(Script(left_out=left_out)).begin()
    desk.application.services.settings.set("overflow", "keep_ends")
    desk.send("Hi")
    desk.step(1)
    assert desk.engine.requests[0].overflow is Overflow.KEEP_ENDS
    assert desk.rows[1].left_out == left_out
    open_id = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    desk.chat.open(open_id)
    assert desk.rows[1].left_out == left_out
    desk.play()
    desk.chat.open(None)
    desk.chat.open(open_id)
    assert desk.rows[1].left_out == left_out
    assert desk.stored()[1].timeline.left_out == left_out


def test_the_visible_answer_goes_first(desk):
    desk.send("first chat")
    desk.step()
    first = desk.chat.open_chat.conversation_id
    desk.chat.open(None)
    desk.send("second chat")
    desk.step()
    one, two = desk.engine.requests
    assert (one.conversation_id, two.conversation_id) == (str(first), str(first + 1))
    assert (one.priority, two.priority) == (1, 1)
    assert Prioritise(one.request_id, 0) in desk.engine.small
    desk.chat.open(first)
    desk.step()
    assert desk.engine.small[-2:] == [
        Prioritise(one.request_id, 1),
        Prioritise(two.request_id, 0),
    ]


# ---------------------------------------------------------------------- first paint


def test_the_first_paint_completes_the_timeline_of_a_streaming_answer(desk):
    desk.send("Hi")
    desk.step(4)
    at_ns = desk.engine.requests[0].sent_ns + 5_000_000_000
    desk.page.first_painted.emit(desk.rows[1].message_id, at_ns)
    desk.play()
    assert desk.rows[1].stats.timeline.first_paint_ns == at_ns
    assert desk.rows[1].stats.timeline.ttft_ns == 5_000_000_000
    assert desk.stored()[1].timeline.first_paint_ns == at_ns


def test_a_paint_after_the_end_still_counts_and_only_once(desk):
    desk.send("Hi")
    desk.play()
    row = desk.rows[1]
    assert row.stats.timeline.first_paint_ns is None
    at_ns = row.stats.timeline.last_token_ns + 1_000_000
    desk.page.first_painted.emit(row.message_id, at_ns)
    desk.page.first_painted.emit(row.message_id, at_ns + 99)
    assert desk.rows[1].stats.timeline.first_paint_ns == at_ns
    assert desk.stored()[1].timeline.first_paint_ns == at_ns


def test_an_old_answer_painted_again_is_not_measured(desk):
    desk.send("Hi")
    desk.play()
    desk.chat.open(desk.chat.open_chat.conversation_id)
    before = desk.stored()[1]
    desk.page.first_painted.emit(desk.rows[1].message_id, before.timeline.last_token_ns * 2)
    assert desk.stored()[1] == before


def test_stop_before_the_question_is_saved_stops_its_answer(desk, monkeypatch):
    waiting = []
    tasks = desk.application.services.tasks
    run = tasks.run
    monkeypatch.setattr(tasks, "run", lambda *task: waiting.append(task))
    desk.send("Hi")
    desk.page.stop_requested.emit()
    monkeypatch.undo()
    for task in waiting:
        run(*task)
    desk.play()
    assert desk.rows[1].reason is FinishReason.CANCELLED
