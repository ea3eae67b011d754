"""The window on the starter model: an answer token by token, and another choice at one of them."""

import pytest

from engine.api import TokenOrigin
from engine.service import EngineService
from tests.helpers.desk import Desk
from ui.chat.rows import MessageStatus
from ui.inspector.page import InspectorPage
from ui.inspector.tokens.view import TokensView

pytestmark = pytest.mark.flow
LOAD_MS = 120_000
ANSWER_MS = 120_000


@pytest.fixture
def desk(qtbot, isolated_home, starter_model):
    made = Desk(
        qtbot, isolated_home, is_immediate=False, has_model=False, make_engine=EngineService
    )
    settings = made.application.services.settings
    for key, value in {
        "model_path": str(starter_model), "temperature": 0.0, "max_tokens": 16, "context_length": 512,
    }.items():  # fmt: skip
        settings.set(key, value)
    made.application.start()
    made.wait(lambda: made.is_open)
    made.wait(lambda: not made.application.controllers.model.is_loading, LOAD_MS)
    yield made
    made.close()


def answered(desk):
    rows = desk.rows[1:]  # behind the question
    return bool(rows) and rows[-1].status is not MessageStatus.STREAMING and bool(rows[-1].text)


def answer_tokens(view):
    return [
        (place, token)
        for place, token in enumerate(view.tokens)
        if token.origin is TokenOrigin.ANSWER
    ]


def test_an_answer_is_looked_at_and_branches(desk):
    view, page = desk.window.findChild(TokensView), desk.window.findChild(InspectorPage)
    desk.send("Name the capital of France in one sentence.")
    desk.wait(lambda: answered(desk), ANSWER_MS)
    first = desk.rows[-1].text
    desk.window.show_inspector()
    page.show_view("tokens")
    desk.wait(lambda: view.text.endswith("%.") and not view.note, ANSWER_MS)
    found = answer_tokens(view)
    said = b"".join(token.data for _, token in found if not token.is_special)
    assert said.decode() == first
    greedy = [token.alternatives[0].token_id == token.token_id for _, token in found]
    assert sum(greedy) >= len(greedy) - 1

    place, token = found[2]
    view.chips.choose(place)
    row = next(
        n
        for n, choice in enumerate(token.alternatives)
        if choice.token_id != token.token_id and choice.text.strip() and not choice.is_special
    )
    begun = b"".join(t.data for _, t in found[:2]).decode() + token.alternatives[row].text
    view.details.choices._pick(row)
    view.details.go_on.click()
    desk.wait(lambda: desk.rows[-1].num_versions == 2 and answered(desk), ANSWER_MS)
    assert desk.rows[-1].text.startswith(begun)
    assert len(desk.rows[-1].text) > len(begun)
    desk.wait(lambda: view.note.startswith("~"), ANSWER_MS)
    said = b"".join(token.data for _, token in answer_tokens(view) if not token.is_special)
    assert said.decode() == desk.rows[-1].text
