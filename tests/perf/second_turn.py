"""Prints TTFT of a long chat's next turn over that of a fresh chat with the same new text.

    python -m tests.perf.second_turn MODEL [--tokens 3000] [--turns 1] [--new 24] [--rounds 5]

The two are asked in turn, with a new text each round, so that only the long chat's own cache
helps. ``--turns``: in so many questions, each answered shortly, the long chat's text stands. Also
prints the time from asking for the model to its first token, load included. ms. Of the parts,
the template and the tokenizer are work of this process's one thread, however long the chat is.
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


def _parts(line: Timeline) -> dict[str, float]:
    """Waiting, the template, the tokenizer, computing the prompt, choosing the first token."""
    parts = {
        "queue": line.queue_ns,
        "template": line.template_ns,
        "tokenizer": line.tokenize_ns - line.template_ns,
        "prefill": line.prefill_ns,
        "sample": line.sample_ns,
    }
    return {name: round(part / 1e6, 2) for name, part in parts.items()}


def _medians(parts: list[dict[str, float]]) -> dict[str, float]:
    return {name: statistics.median(part[name] for part in parts) for name in parts[0]}


def _long_chat(text: str, num_turns: int) -> list[Message]:
    """So many questions, all of them but the last answered."""
    size = -(-len(text) // num_turns)
    chat: list[Message] = []
    for start in range(0, len(text), size):
        chat += [Message("user", text[start : start + size]), Message("assistant", "I see.")]
    return chat[:-1]


def main() -> None:
    """Measure one model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--tokens", type=int, default=3_000)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--new", type=int, default=24, help="sentences' worth of new text: tokens")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    core = EngineCore()
    began = time.perf_counter_ns()
    assert not any(isinstance(e, ModelFailed) for e in core.load(ModelOptions(options.model)))
    loaded = time.perf_counter_ns()
    _text, first = _ask(core, "warm", [Message("user", "Good morning.")])
    per_sentence = core.count_tokens(SENTENCE)[0] or 1
    chat = _long_chat(SENTENCE * (options.tokens // per_sentence), options.turns)
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
            name: _medians([_parts(pair[place]) for pair in pairs])
            for place, name in enumerate(("fresh", "long"))
        },
        "ratio": round(statistics.median(long.ttft_ns / new.ttft_ns for new, long in pairs), 3),
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
