"""Prints TTFT of a long chat's next turn over that of a fresh chat with the same new text.

    python -m tests.perf.second_turn MODEL [--tokens 3000] [--new 24] [--rounds 5]

The two are asked in turn, with a new text each round, so that only the long chat's own cache
helps. Also prints the time from asking for the model to its first token, load included. ms.
"""

import argparse
import json
import statistics
import sys
import time

from engine.api import (
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
QUESTIONS = ("Who steers it", "What is its name", "How long is the crossing", "Who pays for it")
PARAMS = SamplingParams(temperature=0.0, max_tokens=8, ignore_eos=True)


def _ask(core: EngineCore, name: str, messages: list[Message]) -> tuple[str, Timeline]:
    sent = time.perf_counter_ns()
    request = GenerationRequest(
        str(sent), sent, PARAMS, messages=tuple(messages), conversation_id=name
    )
    events: list[Event] = core.submit(request)
    while core.has_work:
        events += core.step()
    (timeline,) = (e.timeline for e in events if isinstance(e, Finished))
    assert timeline is not None
    return "".join(e.text for e in events if isinstance(e, TokensProduced)), timeline


def _parts(line: Timeline) -> list[float]:
    """Waiting, turning into tokens, computing the prompt, choosing the first token."""
    parts = (line.queue_ns, line.tokenize_ns, line.prefill_ns, line.sample_ns)
    return [round(part / 1e6, 1) for part in parts]


def main() -> None:
    """Measure one model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=3_000)
    parser.add_argument("--new", type=int, default=24, help="sentences' worth of new text: tokens")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    core = EngineCore()
    began = time.perf_counter_ns()
    assert not any(isinstance(e, ModelFailed) for e in core.load(ModelOptions(options.model)))
    loaded = time.perf_counter_ns()
    _text, first = _ask(core, "warm", [Message("user", "Good morning.")])
    per_sentence = core.count_tokens(SENTENCE)[0] or 1
    chat = [Message("user", SENTENCE * (options.tokens // per_sentence))]
    answer, _line = _ask(core, "long", chat)
    chat.append(Message("assistant", answer))
    pairs = []
    for number in range(options.rounds):
        words = f" on day {number} of the week, and the one after it?" * (options.new // 12)
        turn = [Message("user", QUESTIONS[number % len(QUESTIONS)] + words)]
        _text, fresh = _ask(core, f"fresh {number}", turn)
        reply, long = _ask(core, "long", [*chat, *turn])
        chat += [*turn, Message("assistant", reply)]
        pairs.append((fresh, long))
    result = {
        "load_to_first_token_ms": round((first.first_token_ns - began) / 1e6, 1),
        "load_ms": round((loaded - began) / 1e6, 1),
        "chat_tokens": pairs[-1][1].num_prompt_tokens,
        "computed_tokens": [
            [line.num_prompt_tokens - line.num_cached_tokens for line in pair] for pair in pairs
        ],
        "ttft_ms": [[round(line.ttft_ns / 1e6, 1) for line in pair] for pair in pairs],
        "parts_ms": {
            name: [_parts(pair[place]) for pair in pairs]
            for place, name in enumerate(("fresh", "long"))
        },
        "ratio": round(statistics.median(long.ttft_ns / new.ttft_ns for new, long in pairs), 3),
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
