"""Prints the first turn after a restart, with and without the conversation's kept cache.

    python -m tests.perf.restart MODEL [--tokens N]

A conversation of about N tokens is read, its cache kept, and the model loaded anew. The next turn
is asked with an empty cache and with the restored one, each in an engine of its own; the answers
have to be equal. Times in ms; ``restore`` is from the command to its end.
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from engine.api import (
    CacheRestored,
    CacheSaved,
    Event,
    Finished,
    GenerationRequest,
    Message,
    ModelFailed,
    ModelOptions,
    SamplingParams,
    Timeline,
    TokensProduced,
)
from engine.core import EngineCore

SENTENCE = "The ferry leaves the harbour at noon, when the tide has turned and the wind is fair. "
PARAMS = SamplingParams(temperature=0.0, max_tokens=16, ignore_eos=True)
NAME = "chat"


def _load(model: str) -> EngineCore:
    core = EngineCore()
    assert not any(isinstance(e, ModelFailed) for e in core.load(ModelOptions(model)))
    return core


def _run(core: EngineCore, events: list[Event]) -> list[Event]:
    while core.has_work:
        events += core.step()
    return events


def _ask(core: EngineCore, messages: list[Message]) -> tuple[str, Timeline]:
    sent = time.perf_counter_ns()
    request = GenerationRequest(
        str(sent), sent, PARAMS, messages=tuple(messages), conversation_id=NAME
    )
    events = _run(core, core.submit(request))
    (timeline,) = (e.timeline for e in events if isinstance(e, Finished))
    assert timeline is not None
    return "".join(e.text for e in events if isinstance(e, TokensProduced)), timeline


def _after_restart(model: str, path: str | None, messages: list[Message]) -> tuple[str, dict]:
    core = _load(model)
    _ask(core, [Message("user", "Good morning.")])  # torch's first calls
    restore_ms, restored = 0.0, 0
    if path is not None:
        start = time.perf_counter_ns()
        core_events = _run(core, core.restore_cache("next", path))
        restore_ms = (time.perf_counter_ns() - start) / 1e6
        (restored,) = (e.num_tokens for e in core_events if isinstance(e, CacheRestored))
    text, timeline = _ask(core, messages)
    core.unload()
    return text, {
        "ttft_ms": timeline.ttft_ns / 1e6,
        "prompt_tokens": timeline.num_prompt_tokens,
        "cached_tokens": timeline.num_cached_tokens,
        "restored_tokens": restored,
        "restore_ms": restore_ms,
    }


def main() -> None:
    """Measure one model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=2_000)
    options = parser.parse_args()
    core = _load(options.model)
    per_sentence = core.count_tokens(SENTENCE)[0] or 1
    question = SENTENCE * (options.tokens // per_sentence)
    answer, _timeline = _ask(core, [Message("user", question)])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "1.kvcache"
        start = time.perf_counter_ns()
        saved = [
            e for e in _run(core, core.save_cache(NAME, str(path))) if isinstance(e, CacheSaved)
        ]
        save_ms = (time.perf_counter_ns() - start) / 1e6
        core.unload()
        turn = [Message("user", question), Message("assistant", answer), Message("user", "When?")]
        without_text, without = _after_restart(options.model, None, turn)
        with_text, kept = _after_restart(options.model, str(path), turn)
        result = {
            "save_ms": save_ms,
            "saved_tokens": saved[0].num_tokens,
            "file_bytes": path.stat().st_size,
            "without": without,
            "with": kept,
            "same_answer": without_text == with_text,
        }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
