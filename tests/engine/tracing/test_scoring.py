"""Looking at an answer's tokens on a tiny model: exact, between answers, and at nobody's cost."""

import math
from pathlib import Path

import pytest
import torch

from engine.api import (
    Event,
    Finished,
    GenerationRequest,
    InspectedToken,
    InspectionProgress,
    InspectTokens,
    Message,
    ModelOptions,
    ModelReady,
    Precision,
    SamplingParams,
    TokenOrigin,
    TokensInspected,
    TokensProduced,
)
from engine.core import EngineCore
from engine.errors import EngineError
from engine.tracing import scoring
from engine.tracing.scoring import score_rows
from tests.helpers.tiny_models import write_tiny_model
from tests.helpers.v4_models import SHORT, write_v4_folder

QUESTION = (Message("user", "abba!abba"),)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture
def make_core(path: Path):
    before = torch.get_num_threads()
    made = []

    def make(**options) -> EngineCore:
        core = EngineCore()
        loaded = core.load(ModelOptions(str(path), threads=1, **options))[-1]
        assert isinstance(loaded, ModelReady)
        made.append(core)
        return core

    yield make
    for core in made:
        core.unload()
    torch.set_num_threads(before)


@pytest.fixture
def core(make_core) -> EngineCore:
    return make_core()


def finish(core: EngineCore) -> list[Event]:
    events: list[Event] = []
    for _ in range(2000):
        if not core.has_work:
            return events
        events += core.step()
    raise AssertionError("it does not end")


def answer(core: EngineCore, name: str = "a", num_tokens: int = 12) -> tuple[str, tuple[int, ...]]:
    params = SamplingParams(max_tokens=num_tokens, ignore_eos=True, temperature=0.0)
    core.submit(GenerationRequest(name, 0, params, messages=QUESTION))
    produced = [event for event in finish(core) if isinstance(event, TokensProduced)]
    ids = tuple(token for event in produced for token in event.token_ids)
    return "".join(event.text for event in produced), ids


def inspect(core: EngineCore, text: str, ids=None, **changes) -> TokensInspected:
    messages = changes.pop("messages", QUESTION)
    assert core.inspect_tokens(InspectTokens(7, messages, text, ids, **changes)) == []
    (found,) = (e for e in finish(core) if isinstance(e, TokensInspected))
    return found


def of_answer(found: TokensInspected) -> list[InspectedToken]:
    return [token for token in found.tokens if token.origin is TokenOrigin.ANSWER]


def probabilities(found: TokensInspected) -> list[float]:
    return [token.probability or 0.0 for token in of_answer(found)]


def test_a_greedy_answer_is_the_most_probable_at_every_place(core) -> None:
    text, ids = answer(core)
    found = inspect(core, text, ids)
    assert (found.ticket, found.problem, found.is_retokenized) == (7, "", False)
    tokens = of_answer(found)
    assert [token.token_id for token in tokens] == list(ids)
    for token in tokens:
        first, *others = token.alternatives
        assert len(token.alternatives) == 10
        assert (first.token_id, first.probability) == (token.token_id, token.probability)
        assert all(first.probability >= other.probability for other in others)
        assert 0 < token.entropy < math.log2(128)
        assert (first.data, first.text) == (token.data, token.text)


def test_the_prompt_has_origins_and_places_and_no_scores(core) -> None:
    found = inspect(core, "ab")
    prompt = found.tokens[: -len(of_answer(found))]
    assert {token.origin for token in prompt} == {TokenOrigin.TEMPLATE, TokenOrigin.USER}
    assert all(token.probability is None and not token.alternatives for token in prompt)
    places = [token.start for token in found.tokens]
    assert places == sorted(places)
    last = prompt[-1]
    assert of_answer(found)[0].start == last.start + len(last.data)


@pytest.mark.parametrize("options", [{"kv_cache": False}, {"prefix_cache": False}])
def test_the_same_without_a_cache(core, make_core, options) -> None:
    text, ids = answer(core)
    expected = probabilities(inspect(core, text, ids))
    other = make_core(**options)
    assert probabilities(inspect(other, text, ids)) == pytest.approx(expected, abs=1e-5)


def test_pieces_give_what_one_pass_gives(core, monkeypatch) -> None:
    text, ids = answer(core, num_tokens=80)
    whole = inspect(core, text, ids)
    monkeypatch.setattr(scoring, "_ROWS_AT_ONCE", 3 * 4 * 128)
    session = core._session
    session.scorer._max_rows = 7
    pieces = inspect(core, text, ids)
    assert probabilities(pieces) == pytest.approx(probabilities(whole), abs=1e-5)
    assert [t.token_id for t in pieces.tokens] == [t.token_id for t in whole.tokens]


def test_pieces_of_compressed_attention(tmp_path) -> None:
    """Nothing of it is found again, and its state goes on from piece to piece."""
    before = torch.get_num_threads()
    folder = write_v4_folder(tmp_path / "v4", **SHORT)
    core = EngineCore()
    loaded = core.load(ModelOptions(str(folder), weights=Precision.FP32, threads=1))[-1]
    assert isinstance(loaded, ModelReady)
    whole = probabilities(inspect(core, "hello well" * 9))
    core._session.scorer._max_rows = 13
    pieces = probabilities(inspect(core, "hello well" * 9))
    core.unload()
    torch.set_num_threads(before)
    assert len(pieces) > 30
    assert pieces == pytest.approx(whole, abs=1e-4)


def test_progress_counts_and_the_blocks_are_given_back(core) -> None:
    text, ids = answer(core, num_tokens=60)
    session = core._session
    session.scorer._max_rows = 11
    core.inspect_tokens(InspectTokens(1, QUESTION, text, ids))
    events = finish(core)
    steps = [event.num_done for event in events if isinstance(event, InspectionProgress)]
    assert steps == sorted(steps)
    assert len(steps) >= 5
    assert steps[0] == 0
    session.kv.check_integrity()
    assert session.kv.num_live_blocks == 0


def test_answers_go_first_and_take_the_blocks(core) -> None:
    text, ids = answer(core, num_tokens=60)
    expected = probabilities(inspect(core, text, ids))
    session = core._session
    session.scorer._max_rows = 9
    core.inspect_tokens(InspectTokens(1, QUESTION, text, ids))
    core.step()
    core.step()
    params = SamplingParams(max_tokens=4, ignore_eos=True)
    core.submit(GenerationRequest("b", 0, params, prompt="abba"))
    events = core.step()
    assert not session.scorer._has_table
    events += finish(core)
    ended = [event for event in events if isinstance(event, Finished | TokensInspected)]
    assert [type(event) for event in ended] == [Finished, TokensInspected]
    assert probabilities(ended[1]) == pytest.approx(expected, abs=1e-5)
    session.kv.check_integrity()


def test_a_piece_that_is_stopped_is_done_again(core) -> None:
    text, ids = answer(core)
    core.inspect_tokens(InspectTokens(1, QUESTION, text, ids))
    core.step()
    assert core.step(lambda: True) == []
    (found,) = (e for e in finish(core) if isinstance(e, TokensInspected))
    assert found.problem == ""


def test_they_come_in_order_and_can_be_cancelled(core) -> None:
    for ticket in (1, 2, 3):
        core.inspect_tokens(InspectTokens(ticket, QUESTION, "ab"))
    core.step()
    core.step()
    core.cancel_inspection(1)
    core.cancel_inspection(3)
    core.cancel_inspection(99)
    assert core.stats().kv_live_blocks == 0
    events = finish(core)
    assert [event.ticket for event in events if isinstance(event, TokensInspected)] == [2]


def test_another_model_ends_it_with_a_sentence(core) -> None:
    core.inspect_tokens(InspectTokens(1, QUESTION, "ab"))
    core.step()
    (found,) = (e for e in core.unload() if isinstance(e, TokensInspected))
    assert found.tokens == ()
    assert found.problem.endswith(".")
    core.cancel_inspection(1)
    (without,) = core.inspect_tokens(InspectTokens(2, QUESTION, "ab"))
    assert isinstance(without, TokensInspected)
    assert "No model" in without.problem


def test_what_does_not_fit_is_said(core) -> None:
    found = inspect(core, "a!" * 2000)
    assert found.tokens == ()
    assert "fit the context" in found.problem
    assert core.stats().kv_live_blocks == 0


def test_no_room_is_a_sentence(core) -> None:
    session = core._session
    session.kv.allocate_private("other")
    assert session.kv.append("other", session.kv.capacity) is not None
    assert "no room" in inspect(core, "ab").problem
    session.kv.free("other")
    session.kv.check_integrity()


def test_nothing_to_look_at_and_nothing_before_it(core) -> None:
    assert "no text" in inspect(core, "", messages=()).problem
    alone = inspect(core, "ab!", messages=())
    assert [token.probability is None for token in alone.tokens] == [True, False]
    assert of_answer(inspect(core, "")) == []


def test_ids_of_another_model_are_not_used(core) -> None:
    found = inspect(core, "ab", (10**6,))
    assert found.is_retokenized
    assert [token.data for token in of_answer(found)] == [b"ab"]


def test_a_failing_pass_ends_it_and_frees_its_blocks(core, monkeypatch) -> None:
    session = core._session

    def fail(*_: object) -> None:
        raise EngineError("It broke.")

    monkeypatch.setattr(type(session.model.decoder), "forward", fail)
    assert inspect(core, "ab") == TokensInspected(7, (), "It broke.")
    assert core.stats().kv_live_blocks == 0


def test_scores_of_rows_by_hand() -> None:
    logits = torch.tensor([[0.0, 0.0, 0.0, 0.0], [0.0, math.log(3.0), -math.inf, -math.inf]])
    even, sure = score_rows(logits, [2, 0], 2)
    assert (even.probability, even.entropy) == pytest.approx((0.25, 2.0))
    assert sure.probability == pytest.approx(0.25)
    assert sure.entropy == pytest.approx(0.8112781)
    assert [token for token, _ in sure.choices] == [1, 0]
    assert [p for _, p in sure.choices] == pytest.approx([0.75, 0.25])
