"""The real starter model, with and without guesses: the same answers, several at once."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from engine.api import (
    Event,
    Finished,
    GenerationRequest,
    Message,
    ModelOptions,
    ModelReady,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore
from engine.speculative.ngram import NgramDrafter
from engine.speculative.opening import OpenedDraft
from engine.speculative.speculation import Speculation

pytestmark = pytest.mark.flow

QUESTIONS = (
    "Repeat this list twice: apple, pear, plum, cherry, quince.",
    "Count from one to twelve in words, then count again.",
    "Name a colour.",
)
# up to 32 tokens a step, all rows are computed alike, however a busy machine cuts prompts up
PLAIN: dict[str, Any] = {"context_length": 512, "prefix_cache": False, "max_batch_tokens": 32}
GREEDY = SamplingParams(temperature=0, max_tokens=40, ignore_eos=True)
SEEDED = SamplingParams(temperature=0.8, seed=11, max_tokens=40, ignore_eos=True)


class Always(Speculation):
    """Guesses whether it pays or not, so that a busy machine does not change the test."""

    def __init__(self) -> None:
        super().__init__(NgramDrafter())
        self._pace.lengths = lambda ids: [4] * len(ids)


def _ask(core: EngineCore, params: Sequence[SamplingParams]) -> list[Event]:
    events: list[Event] = []
    for place, (question, chosen) in enumerate(zip(QUESTIONS, params, strict=False)):
        message = (Message("user", question),)
        events += core.submit(GenerationRequest(str(place), 0, chosen, messages=message))
    while core.has_work:
        events += core.step()
    return events


def _tokens(events: list[Event], request_id: str) -> list[int]:
    produced = [e for e in events if isinstance(e, TokensProduced) and e.request_id == request_id]
    return [token for event in produced for token in event.token_ids]


def _text(events: list[Event], request_id: str) -> str:
    produced = [e for e in events if isinstance(e, TokensProduced) and e.request_id == request_id]
    return "".join(event.text for event in produced)


def _accepted(events: list[Event]) -> int:
    return sum(e.timeline.num_accepted_tokens for e in events if isinstance(e, Finished))


@pytest.fixture(scope="module")
def core(starter_model: Path) -> Iterator[EngineCore]:
    core = EngineCore()
    events = core.load(ModelOptions(str(starter_model), **PLAIN))
    assert isinstance(events[-1], ModelReady)
    yield core
    core.unload()


@pytest.mark.parametrize("params", [GREEDY, SEEDED], ids=["greedy", "seeded"])
def test_ngram_guesses_leave_every_token_as_it_is(
    core: EngineCore, params: SamplingParams
) -> None:
    session = core._session
    assert session is not None
    plain = _ask(core, [params] * 3)
    session.guess_with(OpenedDraft(Always(), "ngram"))
    guessed = _ask(core, [params] * 3)
    session.scheduler._guessing = None
    assert _accepted(plain) == 0
    if params is GREEDY:
        assert _accepted(guessed) > 10
    for request_id in "012":
        assert _tokens(guessed, request_id) == _tokens(plain, request_id)


def test_a_draft_model_leaves_every_token_as_it_is(core: EngineCore, starter_model: Path) -> None:
    plain = _ask(core, [GREEDY, SEEDED])
    other = EngineCore()
    path = str(starter_model)
    # the model itself, in a lower precision, is the best judge of the mechanism
    options = ModelOptions(path, draft=path, **PLAIN)
    ready = other.load(options)[-1]
    assert isinstance(ready, ModelReady)
    assert ready.info.draft
    session = other._session
    assert session is not None
    assert session.draft_bytes > 50_000_000
    speculator = session._speculator
    assert isinstance(speculator, Speculation)
    speculator._pace.lengths = lambda ids: [3] * len(ids)
    guessed = _ask(other, [GREEDY, SEEDED])
    other.unload()
    assert _accepted(guessed) > 40
    for request_id in "01":
        assert _tokens(guessed, request_id) == _tokens(plain, request_id)


def test_answers_in_a_form_several_at_once(core: EngineCore) -> None:
    schema = {
        "type": "object",
        "properties": {"word": {"type": "string", "maxLength": 8}, "size": {"type": "integer"}},
        "required": ["word", "size"],
        "additionalProperties": False,
    }
    bound = SamplingParams(max_tokens=60, seed=3, json_schema=json.dumps(schema))
    events = _ask(core, [bound, GREEDY, bound])
    for request_id in "02":
        document = json.loads(_text(events, request_id))
        assert set(document) == {"word", "size"}
    assert not _text(events, "1").startswith("{")
