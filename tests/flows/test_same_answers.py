"""The starter model's answers alone, beside others, guessed, interrupted, branched and restored.

Steps take at most 32 tokens of a request here: so many rows are computed by the native core with
the very numbers of a single one, so that nothing but a fault can change an answer.
"""

from pathlib import Path

import pytest

from engine.api import (
    CacheRestored,
    Event,
    Finished,
    GenerationRequest,
    KVPrecision,
    ModelOptions,
    ModelReady,
    Precision,
    SamplingParams,
    Timeline,
    TokensProduced,
)
from engine.core import EngineCore
from engine.kernels.library import open_core
from engine.speculative.ngram import NgramDrafter
from engine.speculative.opening import OpenedDraft
from engine.speculative.speculation import Speculation

pytestmark = [
    pytest.mark.flow,
    pytest.mark.skipif(open_core() is None, reason="the same numbers are the native core's"),
]

NUM = 16
LENGTH = 14
WORDS = ("one two three", "red, green, blue, red, green", "The sun rises in the", "a b a b a b a")


def _load(path: Path, **options: object) -> EngineCore:
    chosen = {
        "weights": Precision.INT8,
        "context_length": 128,
        "max_streams": NUM,
        "max_batch_tokens": 32,
        "prefix_cache": False,
        **options,
    }
    core = EngineCore()
    assert isinstance(core.load(ModelOptions(str(path), **chosen))[-1], ModelReady)
    return core


def _request(number: int, length: int = LENGTH) -> GenerationRequest:
    """Greedy and seeded ones by turns."""
    params = SamplingParams(
        temperature=0.8 * (number % 2), seed=number, max_tokens=length, ignore_eos=True
    )
    prompt = f"{number}: {WORDS[number % len(WORDS)]}"
    return GenerationRequest(str(number), 0, params, prompt=prompt)


def _drain(core: EngineCore) -> list[Event]:
    events: list[Event] = []
    while core.has_work:
        events += core.step()
    return events


def _answers(
    core: EngineCore, requests: list[GenerationRequest]
) -> tuple[dict[str, list[int]], list[Timeline]]:
    for request in requests:
        core.submit(request)
    events = _drain(core)
    tokens: dict[str, list[int]] = {request.request_id: [] for request in requests}
    for event in events:
        if isinstance(event, TokensProduced):
            tokens[event.request_id] += event.token_ids
    lines = [e.timeline for e in events if isinstance(e, Finished) and e.timeline is not None]
    assert len(lines) == len(requests)
    assert core.stats().kv_live_blocks == 0
    return tokens, lines


def _guess_always(core: EngineCore) -> None:
    session = core._session
    assert session is not None
    speculation = Speculation(NgramDrafter())
    speculation._pace.lengths = lambda ids: [6] * len(ids)
    session.guess_with(OpenedDraft(speculation, "ngram"))


@pytest.mark.parametrize("kv", [KVPrecision.INT8, KVPrecision.INT4, KVPrecision.BF16], ids=str)
def test_alone_beside_fifteen_others_and_guessed(starter_model: Path, kv: KVPrecision) -> None:
    core = _load(starter_model, kv=kv)
    requests = [_request(number) for number in range(NUM)]
    together, _lines = _answers(core, requests)
    for request in requests[:5]:
        alone, _lines = _answers(core, [request])
        assert alone[request.request_id] == together[request.request_id]
    _guess_always(core)
    guessed, lines = _answers(core, requests)
    assert guessed == together
    assert sum(line.num_accepted_tokens for line in lines) > 10
    core.unload()


def test_preempted_branched_and_restored(starter_model: Path, tmp_path: Path) -> None:
    core = _load(starter_model)
    requests = [_request(number, 2 * NUM) for number in range(6)]  # three blocks each
    expected, _lines = _answers(core, requests)
    assert core.info is not None
    block_bytes = core.info.kv_bytes_per_token * core.info.kv_block_size
    said = requests[3].prompt
    assert said is not None
    first = _ids(core, said) + expected["3"]
    branches = [(*first[:-4], 40 + n, *first[:5]) for n in range(3)]
    plain = {ids: _ask_ids(core, ids)[0] for ids in branches}
    core.unload()

    core = _load(starter_model, kv_budget_bytes=10 * block_bytes)
    _guess_always(core)
    crowded, lines = _answers(core, requests)
    assert sum(line.num_preemptions for line in lines) > 0
    assert crowded == expected
    core.unload()

    core = _load(starter_model, prefix_cache=True)
    _guess_always(core)
    assert _ask_ids(core, tuple(_ids(core, said)))[0] == expected["3"][:LENGTH]
    for ids in branches:
        tokens, line = _ask_ids(core, ids)
        assert line.num_cached_tokens > 0, "nothing was shared"
        assert tokens == plain[ids]
    path = tmp_path / "chat.kv"
    assert core.save_cache("chat", str(path)) == []
    _drain(core)
    core.unload()
    core = _load(starter_model, prefix_cache=True)
    core.restore_cache("chat", str(path))
    (restored,) = _drain(core)
    assert isinstance(restored, CacheRestored)
    assert restored.num_tokens > 0
    tokens, line = _ask_ids(core, branches[-1])
    assert line.num_cached_tokens == min(restored.num_tokens, len(branches[-1]) - 1)
    assert tokens == plain[branches[-1]]
    core.unload()


def _ids(core: EngineCore, text: str) -> list[int]:
    session = core._session
    assert session is not None
    return session.model.tokenizer.encode_prompt(text)


def _ask_ids(core: EngineCore, ids: tuple[int, ...], seed: int = 3) -> tuple[list[int], Timeline]:
    params = SamplingParams(temperature=0.8, seed=seed, max_tokens=LENGTH, ignore_eos=True)
    request = GenerationRequest("b", 0, params, prompt_ids=ids, conversation_id="chat")
    tokens, lines = _answers(core, [request])
    return tokens["b"], lines[0]
