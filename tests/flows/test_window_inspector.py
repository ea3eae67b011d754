"""One click from an answer to where its time went, on the starter model."""

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from engine.api import Remedy, TraceFormat
from engine.service import EngineService
from tests.helpers.desk import Desk
from ui.chat.rows import MessageStatus
from ui.inspector.answer.view import AnswerView
from ui.meters.live import LiveMeters

pytestmark = pytest.mark.flow
LOAD_MS = 120_000
ANSWER_MS = 120_000
SETTINGS = {"temperature": 0.0, "max_tokens": 16, "context_length": 512}


@pytest.fixture
def open_desk(qtbot, isolated_home, starter_model):
    made = []

    def open_app(**more):
        desk = Desk(
            qtbot, isolated_home, is_immediate=False, has_model=False, make_engine=EngineService
        )
        made.append(desk)
        desk.application.services.settings.set("model_path", str(starter_model))
        for key, value in {**SETTINGS, **more}.items():
            desk.application.services.settings.set(key, value)
        desk.window.resize(1360, 860)
        desk.application.start()
        desk.wait(lambda: desk.is_open)
        desk.wait(lambda: not desk.application.controllers.model.is_loading, LOAD_MS)
        return desk

    yield open_app
    for desk in made:
        desk.close()


def ask(desk, text):
    num_rows = len(desk.rows)
    desk.send(text)
    desk.wait(lambda: len(desk.rows) == num_rows + 2)
    desk.wait(lambda: desk.rows[-1].status is not MessageStatus.STREAMING, ANSWER_MS)
    return desk.rows[-1].message_id


def look_at(desk, qtbot, message_id):
    """Click the line under an answer."""
    desk.wait(lambda: desk.page.messages.entries.find(message_id).item is not None)
    item = desk.page.messages.entries.find(message_id).item
    qtbot.mouseClick(item.stats, Qt.MouseButton.LeftButton)
    return desk.window.findChild(AnswerView)


def test_an_answer_is_explained_kept_and_exported(open_desk, qtbot, tmp_path):
    desk = open_desk()
    message_id = ask(desk, "Why is the sky blue?")
    view = look_at(desk, qtbot, message_id)
    desk.wait(view.export._json.isEnabled, ANSWER_MS)  # the report has come
    assert view.isVisible()
    assert view.timing.list.item(view.timing.list.rowCount() - 1, 3).text() == "100.0%"
    desk.wait(lambda: "Window: a token is on the screen" in view.itl.text, ANSWER_MS)
    path = tmp_path / "answer.json"
    view.export.wanted.emit(str(path), TraceFormat.JSON)
    desk.wait(lambda: view.export.outcome != "")
    assert view.export.outcome == f"Saved as {path}."
    names = [stage["name"] for stage in json.loads(path.read_text("utf-8"))["stages"]]
    assert {"queue", "prefill", "decode"} <= set(names)
    sentence, diagnosis = view.text, view.diagnosis.state.text
    desk.close()

    again = open_desk()
    conversation = again.listed_ids[0]
    again.application.controllers.chat.open(conversation)
    again.wait(lambda: len(again.rows) == 2)
    view = look_at(again, qtbot, message_id)
    again.wait(view.export._json.isEnabled)
    assert view.text == sentence
    assert view.diagnosis.state.text == diagnosis


def test_a_remedy_is_tried_by_one_click_and_measured(open_desk):
    desk = open_desk(kv_cache=False)
    card = desk.window.findChild(LiveMeters).diagnosis
    bridge, reports = desk.application.services.bridge, []
    bridge.answer_explained.connect(reports.append)
    ask(desk, "Write a list of ten rivers.")
    desk.wait(lambda: bool(reports) and reports[-1].is_complete, ANSWER_MS)
    # without measured ceilings there is no remedy: this one is what they would give
    remedy = Remedy("kv_cache", True, 4.0, reports[-1].timeline.decode_ns // 2)
    diagnosis = replace(reports[-1].diagnosis, remedies=(remedy,))
    bridge.answer_explained.emit(replace(reports[-1], diagnosis=diagnosis))
    card.try_requested.emit(0)
    assert desk.application.services.settings["kv_cache"] is True
    desk.wait(lambda: not desk.application.controllers.model.is_loading, LOAD_MS)
    ask(desk, "And ten mountains.")
    desk.wait(lambda: "measured" in card.state.outcome, ANSWER_MS)
    words = "Use the KV cache. Decode: predicted ~2.00 times as fast, measured "
    assert card.state.outcome.startswith(words)
    assert card.state.can_undo
