"""The starter model's cache: shared by branches, kept over a restart, the same for 32 at once."""

from dataclasses import replace
from pathlib import Path

import pytest

from engine.api import (
    CacheMiss,
    CacheRestored,
    CacheSaved,
    Event,
    Finished,
    GenerationRequest,
    Message,
    MissKind,
    ModelOptions,
    ModelReady,
    Precision,
    SamplingParams,
    Timeline,
    TokensProduced,
)
from engine.core import EngineCore

pytestmark = pytest.mark.flow

PARAMS = SamplingParams(temperature=0, max_tokens=8, ignore_eos=True)
FEW = 32  # tokens of a request that get the very numbers of a single one
FIRST = "Name three rivers of Europe, with the countries that they run through, please."


def _load(path: Path, **options: object) -> EngineCore:
    core = EngineCore()
    chosen = ModelOptions(str(path), weights=Precision.INT8, context_length=512, **options)
    assert isinstance(core.load(chosen)[-1], ModelReady)
    return core


def _run(core: EngineCore) -> list[Event]:
    events: list[Event] = []
    while core.has_work:
        events += core.step()
    return events


def _ask(core: EngineCore, name: str, *texts: str) -> tuple[str, Timeline]:
    roles = ("user", "assistant") * len(texts)
    messages = tuple(Message(role, text) for role, text in zip(roles, texts, strict=False))
    core.submit(GenerationRequest(name, 0, PARAMS, messages=messages, conversation_id="chat"))
    events = _run(core)
    text = "".join(e.text for e in events if isinstance(e, TokensProduced))
    (timeline,) = (e.timeline for e in events if isinstance(e, Finished))
    assert timeline is not None
    return text, timeline


def test_branches_variants_and_a_restart_compute_only_what_is_new(
    starter_model: Path, tmp_path: Path
) -> None:
    core = _load(starter_model, max_batch_tokens=FEW)
    answer, first = _ask(core, "1", FIRST)
    assert first.cache_miss == CacheMiss(MissKind.FIRST_TURN, 0, first.num_prompt_tokens - 1)
    variant, again = _ask(core, "2", FIRST)
    assert (variant, again.cache_miss) == (answer, None)
    assert again.num_cached_tokens == again.num_prompt_tokens - 1
    edited = FIRST.replace("Europe", "Asia")
    branch, edit = _ask(core, "3", edited)
    assert edit.cache_miss is not None
    assert edit.cache_miss.kind is MissKind.TEXT_CHANGED
    assert (edit.cache_miss.role, edit.cache_miss.number) == ("user", 1)
    assert edit.num_cached_tokens == edit.cache_miss.position

    path = tmp_path / "kv" / "1.kv"
    assert core.save_cache("chat", str(path)) == []
    (saved,) = _run(core)
    core.unload()
    core = _load(starter_model, max_batch_tokens=FEW)
    assert isinstance(saved, CacheSaved)
    assert core.restore_cache("chat", str(path)) == []
    assert _run(core) == [CacheRestored("chat", saved.num_tokens)]
    fresh = _load(starter_model, max_batch_tokens=FEW)
    second, restored = _ask(core, "4", edited, branch, "And in one word?")
    assert second == _ask(fresh, "5", edited, branch, "And in one word?")[0]
    assert restored.num_cached_tokens == saved.num_tokens > 0
    core.unload()
    fresh.unload()


def test_thirty_two_seeded_answers_are_those_that_each_gets_alone(starter_model: Path) -> None:
    core = _load(starter_model, prefix_cache=False)
    params = SamplingParams(temperature=1.0, top_p=1.0, min_p=0.0, max_tokens=6, ignore_eos=True)
    requests = [
        GenerationRequest(str(n), 0, replace(params, seed=n), prompt="Once upon a time")
        for n in range(32)
    ]

    def answers(batch: list[GenerationRequest]) -> dict[str, list[int]]:
        for request in batch:
            core.submit(request)
        tokens: dict[str, list[int]] = {}
        for event in _run(core):
            if isinstance(event, TokensProduced):
                tokens.setdefault(event.request_id, []).extend(event.token_ids)
        return tokens

    together = answers(requests)
    assert len(together) == 32
    assert len({tuple(tokens) for tokens in together.values()}) > 20
    for request in requests[::5]:
        assert answers([request]) == {request.request_id: together[request.request_id]}
    assert core.stats().kv_live_blocks == 0
    core.unload()
