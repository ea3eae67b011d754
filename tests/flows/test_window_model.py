"""The whole window on the real engine, and on the starter model where one is needed."""

import re
import time

import gguf
import pytest

from engine.api import FinishReason
from engine.service import EngineService
from tests.helpers.desk import Desk
from ui.chat.rows import MessageStatus
from ui.settings.panel import SettingsPanel
from ui.widgets.model_pill import PillStatus

pytestmark = pytest.mark.flow
LOAD_MS = 120_000
ANSWER_MS = 120_000


@pytest.fixture
def open_desk(qtbot, isolated_home):
    made = []

    def open_app(model, **settings):
        desk = Desk(
            qtbot, isolated_home, is_immediate=False, has_model=False, make_engine=EngineService
        )
        made.append(desk)
        desk.application.services.settings.set("model_path", str(model))
        for key, value in settings.items():
            desk.application.services.settings.set(key, value)
        desk.application.start()
        desk.wait(lambda: desk.is_open)
        return desk

    yield open_app
    for desk in made:
        desk.close()


def wait_for_model(desk):
    desk.wait(lambda: not desk.application.controllers.model.is_loading, LOAD_MS)


def ask(desk, text):
    num_rows = len(desk.rows)
    desk.send(text)
    desk.wait(lambda: len(desk.rows) == num_rows + 2)


def wait_for_end(desk):
    desk.wait(lambda: desk.rows[-1].status is not MessageStatus.STREAMING, ANSWER_MS)
    desk.wait(lambda: not desk.application.controllers.answers.has_unsaved)


def test_ask_stream_stop_measure_and_come_back(open_desk, starter_model):
    desk = open_desk(starter_model, temperature=0.0, max_tokens=24, context_length=1024)
    began_ns = time.perf_counter_ns()
    ask(desk, "Why is the sky blue?")  # while the model still loads
    assert desk.application.controllers.model.is_loading
    desk.wait(lambda: desk.texts[1] != "", LOAD_MS)
    seen_ns = time.perf_counter_ns()
    wait_for_end(desk)
    row = desk.rows[1]
    assert row.reason in {FinishReason.MAX_TOKENS, FinishReason.END_OF_TEXT}
    assert len(row.text.split()) > 5
    timeline = row.stats.timeline
    assert began_ns <= timeline.sent_ns <= timeline.first_token_ns <= seen_ns
    desk.wait(lambda: desk.rows[1].stats.timeline.first_paint_ns is not None)
    timeline = desk.rows[1].stats.timeline
    parts = (
        timeline.queue_ns,
        timeline.load_wait_ns,
        timeline.tokenize_ns,
        timeline.prefill_ns,
        timeline.sample_ns,
        timeline.paint_ns,
    )
    assert sum(parts) == timeline.ttft_ns
    assert timeline.load_wait_ns > 0

    desk.window.findChild(SettingsPanel).changed.emit("max_tokens", None)
    ask(desk, "Tell me a very long story about the sea.")
    desk.wait(lambda: len(desk.texts[3]) > 20, ANSWER_MS)
    desk.page.stop_requested.emit()
    wait_for_end(desk)
    assert desk.rows[3].reason is FinishReason.CANCELLED
    assert desk.rows[3].text
    assert desk.rows[3].stats.timeline.num_cached_tokens > 0
    conversation_id = desk.chat.open_chat.conversation_id
    texts = desk.texts
    desk.close()

    again = open_desk(starter_model, context_length=1024)
    again.chat.open(conversation_id)
    again.wait(lambda: again.texts == texts)


def test_continue_goes_on_where_the_answer_was_cut(open_desk, starter_model):
    desk = open_desk(
        starter_model, temperature=0.0, max_tokens=24, context_length=512, weights="fp32"
    )
    ask(desk, "Why is the sky blue?")
    wait_for_end(desk)
    whole = desk.rows[1].text
    desk.application.services.settings.set("max_tokens", 12)
    desk.page.regenerate_requested.emit(desk.rows[1].message_id)
    desk.wait(lambda: desk.rows[1].version == 2)
    wait_for_end(desk)
    half = desk.rows[1].text
    assert whole.startswith(half)
    assert len(half) < len(whole)
    desk.page.continue_requested.emit(desk.rows[1].message_id)
    desk.wait(lambda: desk.rows[1].status is MessageStatus.STREAMING)
    wait_for_end(desk)
    assert desk.rows[1].text == whole


def test_a_prompt_that_is_too_long_is_said_with_both_numbers(open_desk, starter_model):
    desk = open_desk(starter_model, context_length=256, max_tokens=4)
    wait_for_model(desk)
    ask(desk, "wave " * 600)
    wait_for_end(desk)
    assert desk.rows[1].status is MessageStatus.FAILED
    assert re.search("255|256", desk.rows[1].failure)  # one place is left for the answer
    assert desk.texts[0] == ("wave " * 600).strip()
    desk.page.edit_requested.emit(desk.rows[0].message_id, "Hi")
    desk.wait(lambda: desk.texts[0] == "Hi")
    wait_for_end(desk)
    assert desk.rows[1].status is MessageStatus.COMPLETE


def test_a_budget_beyond_the_machine_is_said_and_a_smaller_one_works(open_desk, starter_model):
    desk = open_desk(starter_model, context_length=256, kv_budget_mib=1_000_000)
    wait_for_model(desk)
    assert "memory" in desk.notices[0]
    assert desk.window._top.pill.state.status is PillStatus.FAILED
    panel = desk.window.findChild(SettingsPanel)
    panel.changed.emit("kv_budget_mib", None)
    panel.reload_requested.emit()
    wait_for_model(desk)
    assert desk.window._top.pill.state.status is PillStatus.READY


def strange_model(path):
    writer = gguf.GGUFWriter(str(path), "warp9")
    writer.add_context_length(128)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def test_files_that_are_no_model_are_each_one_sentence_and_the_app_goes_on(open_desk, tmp_path):
    missing, corrupt, strange = (tmp_path / name for name in ("gone.gguf", "bad.gguf", "new.gguf"))
    corrupt.write_bytes(b"GGUF" + b"\xff" * 64)
    strange_model(strange)
    desk = open_desk(missing)
    wait_for_model(desk)
    for path in (corrupt, strange):
        desk.window.model_file_chosen.emit(str(path))
        wait_for_model(desk)
    assert len(desk.notices) == 3
    for notice, path in zip(desk.notices, (missing, corrupt, strange), strict=True):
        assert path.name in notice
        assert notice.endswith(".")
    ask(desk, "Is anybody there?")
    wait_for_end(desk)
    assert desk.texts[0] == "Is anybody there?"
    assert "No model is loaded" in desk.rows[1].failure
