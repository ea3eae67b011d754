"""Prints what decoding costs the one thread of Python: us a step, and us a token.

    python -m tests.perf.host_cost MODEL [--context 512] [--tokens 200] [--streams 1]

First real steps of the loaded model, medians by part, with what the native call takes beside them
(``native``): the parts together are what the host adds to it. Then what a token costs once it is
chosen (thread time, means of many): its text, its time stamps, the event that tells of it, and
handing that to the inspector. Also what the gauges cost, which are read ten times a second.
Sampling is as the app begins with; ``--greedy`` takes the likeliest token.
"""

import argparse
import json
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from engine import runner
from engine.api import (
    GenerationRequest,
    Message,
    ModelFailed,
    ModelOptions,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore
from engine.metrics import Marks, now_ns
from engine.sampling.sampler import Sampler
from engine.scheduling.booking import append_tokens
from engine.scheduling.plan import StepOutput
from engine.scheduling.request import Request
from engine.text.prompt import answer_stream
from engine.text.reasoning import find_tags
from engine.text.timed import TimedText
from engine.tracing.inspector import AnswerInspector

WORDS = "The ferry leaves the harbour at noon, when the tide has turned and the wind is fair. "


class Stopwatch:
    """Sums up, by name, what calls took since it was reset; calls inside others count in both."""

    def __init__(self) -> None:
        self.spent_ns: defaultdict[str, int] = defaultdict(int)

    def watch(self, owner: Any, attribute: str, name: str) -> None:
        """Time every call of ``owner.attribute``."""
        inner = getattr(owner, attribute)

        def timed(*args: Any, **kwargs: Any) -> Any:
            start = time.perf_counter_ns()
            try:
                return inner(*args, **kwargs)
            finally:
                self.spent_ns[name] += time.perf_counter_ns() - start

        setattr(owner, attribute, timed)


def step_parts(core: EngineCore, params: SamplingParams, options: argparse.Namespace) -> Any:
    """Medians of decoding steps, us by part; what is in no part is ``rest``."""
    session = core._session
    watch = Stopwatch()
    for owner, attribute, name in (
        (session.scheduler, "schedule", "schedule"),
        (runner, "build_batch", "batch"),
        (session.model.decoder, "forward", "forward"),
        (Sampler, "sample", "sample"),
        (session.scheduler, "update", "update"),
    ):
        watch.watch(owner, attribute, name)
    native = getattr(session.model.decoder, "_step", None)
    if native is not None:
        watch.watch(native._step._core.library, "tt_step_run", "native")
    per_text = core.count_tokens(WORDS)[0] or 1
    prompt = WORDS * (options.context // per_text)
    for stream in range(options.streams):
        request = GenerationRequest(
            f"{stream}", now_ns(), replace(params, seed=stream, max_tokens=options.tokens),
            prompt=f"{stream} {prompt}",
        )  # fmt: skip
        core.submit(request)
    steps: list[dict[str, float]] = []
    while core.has_work:
        watch.spent_ns.clear()
        start = time.perf_counter_ns()
        events = core.step()
        whole = time.perf_counter_ns() - start
        if sum(isinstance(event, TokensProduced) for event in events) < options.streams:
            continue
        spent = watch.spent_ns
        parts = {
            "schedule": spent["schedule"],
            "batch": spent["batch"],
            "forward, around the native call": spent["forward"] - spent["native"],
            "sample": spent["sample"],
            "update": spent["update"],
        }
        parts["rest"] = whole - spent["native"] - sum(parts.values())
        steps.append(parts | {"host": whole - spent["native"], "native": spent["native"]})
    steps = steps[len(steps) // 10 :]  # the first ones warm up
    table = {n: round(statistics.median(s[n] for s in steps) / 1e3, 1) for n in steps[0]}
    shares = [step["host"] / (step["host"] + step["native"]) for step in steps]
    return table | {"host, of the step": f"{statistics.median(shares):.2%}"}


def token_parts(core: EngineCore, params: SamplingParams) -> dict[str, float]:
    """Thread time of a token that was chosen, us by part."""
    model = core._session.model
    ids = model.tokenizer.encode(WORDS * 200, parse_special=False)
    asked = GenerationRequest("0", now_ns(), params, messages=(Message("user", "Why?"),))
    tags = find_tags(model.template)
    output = StepOutput({}, 1, 2, 3, 1)

    def text() -> Any:
        return answer_stream(asked, model.tokenizer, model.template, tags)

    plain, marks = text(), Marks(0, 0, 0)

    def stamps(_token: int) -> None:
        marks.note_token(1, 2, 3)
        marks.note_text(now_ns(), now_ns())

    own = Marks(0, 0, 0)
    request = Request.of_prompt(
        "0", [1], params=params, seed=1, text=TimedText(text(), own.note_text, now_ns), marks=own
    )

    events: list[TokensProduced] = []

    def book(token: int) -> None:
        events.append(
            append_tokens(request, (token,), output, eos_ids=frozenset(), limit=1 << 30)[0]
        )

    detokenise, metrics, whole = (_thread_us(work, ids) for work in (plain.push, stamps, book))
    inspector = AnswerInspector(lambda _event: None)
    heard = _thread_us(lambda _token: inspector.take(events.pop()), ids)
    return {
        "text": round(detokenise, 2),
        "time stamps": round(metrics, 2),
        "event": round(whole - detokenise - metrics, 2),
        "inspector": round(heard, 2),
        "together": round(whole + heard, 2),
    }


def _thread_us(work: Callable[[int], object], ids: list[int]) -> float:
    start = time.thread_time_ns()
    for token in ids:
        work(token)
    return (time.thread_time_ns() - start) / len(ids) / 1e3


def main() -> None:
    """Measure one model."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=200)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--greedy", action="store_true")
    options = parser.parse_args()
    params = SamplingParams(ignore_eos=True)
    if options.greedy:
        params = replace(params, temperature=0.0)
    core = EngineCore()
    asked = ModelOptions(options.model, max_streams=max(options.streams, 1))
    assert not any(isinstance(event, ModelFailed) for event in core.load(asked))
    result = {
        "us_a_token": token_parts(core, params),
        "us_a_step": step_parts(core, params, options),
        "us_a_look_at_the_gauges": round(_thread_us(lambda _: core.stats(), [0] * 50), 1),
    }
    sys.stdout.write(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
