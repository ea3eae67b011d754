"""A long prompt joins a stream: in chunks the stream goes on, in one piece it waits."""

from dataclasses import replace

import pytest

from engine.api import ModelInfo, ModelOptions
from engine.cli.mixed import ALONE, Mixed
from engine.cli.session import Session
from engine.errors import EngineError, InvalidRequestError
from tests.helpers.fake_model import FakeModels
from tests.helpers.scheduling import make_config

OPTIONS = ModelOptions("fake.gguf")


def _prompt(_info: ModelInfo, length: int) -> tuple[int, ...]:
    return tuple(n % 80 for n in range(length))


def _never() -> bool:
    return False


def _mixed(length: int) -> Mixed:
    return Mixed(OPTIONS, length, _prompt, _never)


def _load(options: ModelOptions, **config: int) -> Session:
    chosen = {"num_blocks": 300, "context_length": 1100, **config}
    models = FakeModels(make_config(max_batch_tokens=options.max_batch_tokens, **chosen))
    return Session(options, lambda _progress: None, models.make_core)


def test_chunks_let_the_stream_go_on() -> None:
    result = _mixed(900).measure(_load)
    chunks, whole = result["chunks"], result["one_piece"]
    assert isinstance(chunks, dict)
    assert isinstance(whole, dict)
    assert chunks["tokens_meanwhile"] > 1
    assert whole["tokens_meanwhile"] == 1
    for figures in (chunks, whole):
        assert figures["stream_alone_itl_ms"]["max"] > 0
        assert figures["stream_beside_itl_ms"]["max"] > 0
        assert figures["prompt_ttft_ms"] > 0


def test_chunks_of_a_chosen_size_are_measured_alone() -> None:
    options = replace(OPTIONS, max_batch_tokens=64, adaptive_chunks=False)
    result = Mixed(options, 900, _prompt, _never).measure(_load)
    assert set(result) == {"prompt_tokens", "chunks"}
    chunks = result["chunks"]
    assert isinstance(chunks, dict)
    assert chunks["tokens_meanwhile"] >= 900 // 64


def test_a_prompt_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="does not fit"):
        _mixed(2_000).measure(_load)


def test_a_stream_that_ends_before_the_prompt_came_is_told() -> None:
    def load(options: ModelOptions) -> Session:
        return _load(options, context_length=40)

    assert 32 + ALONE > 40
    with pytest.raises(EngineError, match="longer context"):
        _mixed(20).measure(load)


def test_an_interrupt_ends_the_command() -> None:
    with pytest.raises(KeyboardInterrupt):
        Mixed(OPTIONS, 900, _prompt, lambda: True).measure(_load)
