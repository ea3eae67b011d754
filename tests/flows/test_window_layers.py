"""A model with windows answers through the whole engine as if it kept every token in every layer."""

from pathlib import Path

import pytest
import torch

from engine.api import (
    CacheRestored,
    Device,
    Finished,
    GenerationRequest,
    KVPrecision,
    ModelOptions,
    ModelReady,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore
from engine.model.footprint.cache import Pool
from tests.helpers.family_folders import FAMILIES, write_family

pytestmark = pytest.mark.flow
WINDOW, CHUNK, CONTEXT = 128, 32, 512


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_family(tmp_path_factory.mktemp("model") / "gemma", FAMILIES["gemma3"])


@pytest.fixture
def keep_all(monkeypatch):
    """Load the next models without windows of their own."""

    def switch() -> None:
        monkeypatch.setattr(Pool, "window_blocks", lambda *_: None)

    return switch


class Engine:
    """A loaded model; answers are tokens."""

    def __init__(self, folder: Path, **more: object) -> None:
        options = ModelOptions(
            str(folder),
            device=Device.CPU,
            threads=1,
            context_length=CONTEXT,
            max_batch_tokens=CHUNK,
            adaptive_chunks=False,
            **more,
        )
        self.core = EngineCore()
        assert isinstance(self.core.load(options)[-1], ModelReady)
        self.kv = self.core._session.kv
        self.number = 0
        self.most_live: list[int] = []

    def answer(self, *prompts: list[int], new: int = 12, **more: object) -> list[list[int]]:
        """The prompts' answers, computed together."""
        requests = []
        for prompt in prompts:
            self.number += 1
            params = SamplingParams(temperature=0.0, max_tokens=new, ignore_eos=True)
            requests.append(
                GenerationRequest(str(self.number), 0, params, prompt_ids=tuple(prompt), **more)
            )
            self.core.submit(requests[-1])
        tokens: dict[str, list[int]] = {request.request_id: [] for request in requests}
        self.cached: list[int] = []
        while self.core.has_work:
            uses = self.kv.uses
            self.most_live = [
                max(pair)
                for pair in zip(
                    self.most_live or [0] * len(uses), (use.num_live for use in uses), strict=True
                )
            ]
            for event in self.core.step():
                if isinstance(event, TokensProduced):
                    tokens[event.request_id] += event.token_ids
                if isinstance(event, Finished):
                    self.cached.append(event.timeline.num_cached_tokens)
            self.kv.check_integrity()
        return list(tokens.values())


def _prompt(seed: int, length: int) -> list[int]:
    return torch.randint(4, 320, (length,), generator=torch.Generator().manual_seed(seed)).tolist()


FIRST, SECOND = _prompt(1, 300), _prompt(2, 220)


def _conversation(engine: Engine) -> list[list[int]]:
    """Turns, branches, two at once, without a cache, and guessed ahead."""
    answers = engine.answer(FIRST)
    turn = [*FIRST, *answers[0], *_prompt(3, 40)]
    answers += engine.answer(turn)
    answers += engine.answer([*turn[:250], *_prompt(4, 20)], SECOND)
    answers += engine.answer(_prompt(5, 150), new=2, kv_cache=False)
    repeated = _prompt(6, 20) * 12
    answers += engine.answer(repeated, new=30)
    return answers


@pytest.mark.parametrize("kv", [KVPrecision.FP32, KVPrecision.INT8, KVPrecision.INT4])
@pytest.mark.parametrize("draft", ["", "ngram", "itself"])
def test_answers_are_the_same(folder, keep_all, kv, draft):
    drafts = {"draft": str(folder) if draft == "itself" else draft or None}
    engine = Engine(folder, kv=kv, **drafts)
    windows = engine.core.kv_kinds[-1]
    assert (windows.kind, windows.window, windows.layers) == ("window", WINDOW, 3)
    answers = _conversation(engine)
    assert not any(kind.live_blocks for kind in engine.core.kv_kinds)
    keep_all()
    plain = Engine(folder, kv=kv, prefix_cache=False, **drafts)
    assert len(plain.core.kv_kinds) == 1
    expected = _conversation(plain)
    assert [len(tokens) for tokens in answers] == [len(tokens) for tokens in expected]
    assert answers == expected


def test_a_long_answer_holds_no_more_than_its_window(folder):
    engine = Engine(folder)
    engine.answer(FIRST, new=100)
    stats = engine.core.stats()
    full, window = stats.kv_kinds
    assert engine.most_live[0] == 25  # 400 tokens
    # the window and a chunk, where they begin inside a block, and one block before them
    assert engine.most_live[1] <= 12
    assert stats.kv_total_bytes < stats.kv_allocated_bytes  # but for the null block
    assert stats.kv_allocated_bytes - stats.kv_total_bytes == window.block_bytes
    assert stats.kv_cached_bytes == sum(k.cached_blocks * k.block_bytes for k in (full, window))


def test_turns_reuse_and_branches_share(folder):
    engine = Engine(folder)
    (answer,) = engine.answer(FIRST)
    engine.answer([*FIRST, *answer, 5, 6, 7])
    assert engine.cached == [len(FIRST) + len(answer) - 1]
    engine.answer([*FIRST[:200], *_prompt(9, 20)])
    assert engine.cached == [200]


def test_a_kept_cache_is_gone_on_with(folder, tmp_path):
    path = tmp_path / "chat.kv"
    engine = Engine(folder)
    answers = engine.answer(FIRST, conversation_id="c")
    longer = [*FIRST, *answers[0], *_prompt(7, 10)]
    engine.core.save_cache("c", str(path))
    while engine.core.has_work:
        engine.core.step()
    after = Engine(folder)
    events = after.core.restore_cache("c", str(path))
    while after.core.has_work:
        events += after.core.step()
    assert events == [CacheRestored("c", 304)]
    restored = after.answer(longer, conversation_id="c")
    assert after.cached == [304]
    assert restored == engine.answer(longer, conversation_id="c")
