"""``python -m engine bench``: prefill and decode speed on random tokens.

Prompts are random ids, different for each stream, so no prefix cache helps. With S streams of P
prompt tokens and N new ones, t0 the submission and t1 the moment the last stream has its first
token: prefill is S x P tokens over t1 - t0; decode is every token chosen after t1, over the time
to the last of them.

Where this machine's ceilings were measured (``python -m engine roofline``) each speed is told as a
share of its ceiling as well.

With --spec the same prompts are answered twice on one load, first without guesses; the gain is the
ratio of the two decode speeds. Answers to random prompts soon repeat themselves, which is where
guessing is at its best.
"""

import argparse
import json
import math
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

import psutil

from engine.api import GenerationRequest, KVKindStats, ModelInfo, ModelOptions, SamplingParams
from engine.cli.arguments import model_options
from engine.cli.ceiling_share import kept_costs, share_of_ceiling
from engine.cli.mixed import Mixed
from engine.cli.session import Answer, Session, itl_ms
from engine.cli.terminal import LoadLine, StopOnInterrupt
from engine.errors import InvalidRequestError

_WARM_UP_PROMPT = 32
_WARM_UP_NEW = 4


def run_bench(options: argparse.Namespace) -> int:
    """Run the command; returns the exit code. Raises EngineError and KeyboardInterrupt."""
    rng = random.Random(options.seed)  # noqa: S311 - prompts to measure with, not secrets
    if options.mixed:
        result = _run_mixed(rng, options)
        print(json.dumps(result) if options.json else _table(result))
        return 0
    session = _load(bench_options(options))
    check_room(session.info, options, session.kv_kinds)
    prompt, new = min(_WARM_UP_PROMPT, options.prompt_tokens), _WARM_UP_NEW
    _measure(session, _prompts(rng, session.info, options.streams, prompt), new)
    prompts = _prompts(rng, session.info, options.streams, options.prompt_tokens)
    start_ns, answers = _measure(session, prompts, options.new_tokens)
    result = _report(session.info, options, start_ns, answers)
    costs = kept_costs(session.info)
    if costs is not None:
        sizes = (options.streams, options.prompt_tokens, options.new_tokens)
        result["share_of_ceiling"] = share_of_ceiling(costs, sizes, result)
    result |= report_cache(session.kv_kinds)
    if session.info.draft:
        guessed = _measure(session, prompts, options.new_tokens, guess_ahead=True)[1]
        result |= compare_guessing(answers, guessed)
    print(json.dumps(result) if options.json else _table(result))
    return 0


def bench_options(options: argparse.Namespace) -> ModelOptions:
    """How the model is loaded: with room for all streams at once, and every prompt computed."""
    wanted = model_options(options)
    streams = max(wanted.max_streams, options.streams)
    wanted = replace(wanted, max_streams=streams, prefix_cache=False)
    if options.max_batch_tokens is None:
        return wanted
    return replace(wanted, max_batch_tokens=options.max_batch_tokens, adaptive_chunks=False)


def _load(wanted: ModelOptions) -> Session:
    progress = LoadLine()
    try:
        return Session(wanted, progress)
    finally:
        progress.clear()


def _run_mixed(rng: random.Random, options: argparse.Namespace) -> dict[str, object]:
    with StopOnInterrupt() as interrupt:
        mixed = Mixed(
            bench_options(options),
            options.prompt_tokens,
            lambda info, length: _prompts(rng, info, 1, length)[0],
            interrupt.is_stopped,
        )
        return mixed.measure(_load)


def _prompts(
    rng: random.Random, info: ModelInfo, streams: int, length: int
) -> list[tuple[int, ...]]:
    """Random ordinary ids: the first hundred are control tokens in many vocabularies."""
    least = 100 if info.vocab_size > 1_000 else 0
    return [
        tuple(rng.randrange(least, info.vocab_size) for _ in range(length)) for _ in range(streams)
    ]


def _measure(
    session: Session,
    prompts: Sequence[tuple[int, ...]],
    new_tokens: int,
    *,
    guess_ahead: bool = False,
) -> tuple[int, list[Answer]]:
    params = SamplingParams(
        temperature=0.0, max_tokens=new_tokens + 1, ignore_eos=True
    )  # one token comes from the prefill
    start_ns = time.perf_counter_ns()
    requests = [
        GenerationRequest(
            session.next_id(), start_ns, params, prompt_ids=ids, guess_ahead=guess_ahead
        )
        for ids in prompts
    ]
    with StopOnInterrupt() as interrupt:
        answers = session.run(requests, _write_nothing, interrupt.is_stopped)
        if interrupt.is_stopped():
            raise KeyboardInterrupt
    return start_ns, answers


def _write_nothing(_text: str) -> None:
    return


def check_room(
    info: ModelInfo, options: argparse.Namespace, kinds: Sequence[KVKindStats] = ()
) -> None:
    """Raise InvalidRequestError where a stream would end early, wait, or be preempted.

    ``kinds``: the caches; none: one for all layers.
    """
    each = options.prompt_tokens + options.new_tokens + 1
    if each > info.context_length:
        raise InvalidRequestError(
            f"A stream of {each} tokens does not fit the context of {info.context_length}; use"
            " fewer --prompt-tokens or --new-tokens.",
            reason="context",
        )
    size = info.kv_block_size
    blocks = info.kv_budget_bytes // (info.kv_bytes_per_token * size)
    if kinds:
        blocks = kinds[0].total_blocks
    if kinds and kinds[0].window is not None:
        return  # windows alone hold texts of any length
    # the scheduler keeps a block free for each stream that runs when it admits another
    needed = options.streams * math.ceil(each / size) + options.streams - 1
    if needed > blocks:
        raise InvalidRequestError(
            f"{options.streams} streams need {needed} blocks of {size} tokens in the KV cache and"
            f" {blocks} fit; use fewer --streams.",
            reason="kv cache",
        )


def _report(
    info: ModelInfo, options: argparse.Namespace, start_ns: int, answers: Sequence[Answer]
) -> dict[str, object]:
    times = [answer.times_ns for answer in answers]
    filled_ns = max(stream[0] for stream in times)
    ttfts = [answer.timeline.ttft_ns / 1e6 for answer in answers if answer.timeline is not None]
    prompt_tokens = options.prompt_tokens * options.streams
    return {
        "model": info.name,
        "precision": info.precision.value,
        "kernels": list(info.kernels),
        "threads": info.threads,
        "streams": options.streams,
        "prompt_tokens": options.prompt_tokens,
        "new_tokens": options.new_tokens,
        "kv_cache": not options.no_kv_cache,
        "prefill_tokens_per_s": prompt_tokens * 1e9 / (filled_ns - start_ns),
        "decode_tokens_per_s": decode_rate(times),
        "ttft_ms": statistics.median(ttfts) if ttfts else None,
        "itl_ms": itl_ms(times),
        "load_s": info.load_ns / 1e9,
        "weights_bytes": info.weights_bytes,
        "kv": info.kv_dtype,
        "kv_bytes_per_token": info.kv_bytes_per_token,
        "peak_rss_bytes": peak_rss_bytes(),
    }


def report_cache(kinds: Sequence[KVKindStats]) -> dict[str, object]:
    """Bytes of the streams' cache when all had their last tokens, and of each kind of layers."""
    live = [kind.live_blocks * kind.block_bytes for kind in kinds]
    return {
        "kv_live_bytes": sum(live),
        "kv_kinds": [
            {
                "kind": kind.kind,
                "layers": kind.layers,
                "window": kind.window,
                "live_bytes": num_bytes,
                "total_bytes": kind.total_blocks * kind.block_bytes,
            }
            for kind, num_bytes in zip(kinds, live, strict=True)
        ],
    }


def decode_rate(times_ns: Sequence[Sequence[int]]) -> float | None:
    """Tokens a second of all streams, from the moment each has its first one."""
    filled_ns = max(stream[0] for stream in times_ns)
    end_ns = max(stream[-1] for stream in times_ns)
    decoded = sum(at > filled_ns for stream in times_ns for at in stream)
    return decoded * 1e9 / (end_ns - filled_ns) if decoded else None


def compare_guessing(plain: Sequence[Answer], guessed: Sequence[Answer]) -> dict[str, object]:
    """What guessing ahead gave: the same prompts answered without it, and with it."""
    lines = [answer.timeline for answer in guessed if answer.timeline is not None]
    drafted = sum(line.num_drafted_tokens for line in lines)
    accepted = sum(line.num_accepted_tokens for line in lines)
    decoded = sum(line.num_output_tokens - 1 for line in lines)
    times = [answer.times_ns for answer in guessed]
    before, after = decode_rate([answer.times_ns for answer in plain]), decode_rate(times)
    return {
        "drafted_tokens": drafted,
        "accepted_tokens": accepted,
        "acceptance": accepted / drafted if drafted else None,
        "tokens_per_step": decoded / (decoded - accepted) if decoded > accepted else None,
        "guessing_decode_tokens_per_s": after,
        "guessing_itl_ms": itl_ms(times),
        "guessing_gain": after / before if after and before else None,
        "same_answers": [a.token_ids for a in guessed] == [a.token_ids for a in plain],
    }


def peak_rss_bytes() -> int:
    """The most main memory this process has held, in bytes."""
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    import resource  # noqa: PLC0415 - not on Windows

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def _table(result: dict[str, object]) -> str:
    width = max(map(len, result))
    return "\n".join(f"{name:<{width}}  {_shown(value)}" for name, value in result.items())


def _shown(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, dict):
        return "  ".join(f"{name} {_shown(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(map(_shown, value))
    return str(value)
