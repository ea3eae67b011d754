"""Observations of scripted answers: the class of each follows from how it is made."""

from dataclasses import replace
from typing import Any

from engine.api import CacheMiss, Timeline
from engine.diagnosis.observation import MachineState, Observation, PrefillCost, StepCost

MS = 1_000_000


def make_timeline(
    *,
    queue: int = 0,
    template: int = 1,
    tokenize: int = 1,
    prefill: int = 100,
    sample: int = 1,
    decode: int = 1_000,
    detokenize: int = 1,
    tokens: int = 101,
    host: float | None = 0.05,
    prompt: int = 100,
    cached: int = 0,
    miss: CacheMiss | None = None,
) -> Timeline:
    """Durations in ms; ``host``: share of prefill and decode outside the forward pass."""
    marks = [0]
    for length in (queue, template + tokenize, 0, prefill, sample, decode, detokenize):
        marks.append(marks[-1] + length * MS)
    _sent, queued, tokenized, start, end, first, last, text = marks
    inside = None if host is None else 1 - host
    return Timeline(
        sent_ns=0,
        tokenize_start_ns=queued,
        tokenize_end_ns=tokenized,
        prefill_start_ns=start,
        prefill_end_ns=end,
        first_token_ns=first,
        last_token_ns=last,
        load_wait_ns=0,
        num_prompt_tokens=prompt,
        num_cached_tokens=cached,
        num_output_tokens=tokens,
        cache_miss=miss,
        template_ns=template * MS,
        detokenize_ns=detokenize * MS,
        text_end_ns=text,
        prefill_forward_ns=None if inside is None else round(prefill * MS * inside),
        decode_forward_ns=None if inside is None else round(decode * MS * inside),
    )


def make_step(read_ms: float, *, cache: float = 0.1, overhead_ms: float = 0.2) -> StepCost:
    """A step that reads so long at the ceiling; ``cache``: the cache's part of the bytes."""
    num_bytes = round(read_ms * 1e7)  # at 10 GB/s
    kept = round(num_bytes * cache)
    return StepCost(num_bytes - kept, kept, 1e10, 1e10, 1e-4, overhead_ms / 1e3)


def make_seen(timeline: Timeline, *, reading: float | None = 0.8, **more: Any) -> Observation:
    """An observation on a quiet machine of two cores; more fields of it by name.

    ``reading``: what of a decode step reading takes at the ceiling; None: no ceilings.
    """
    seen = Observation(timeline, MachineState(cores=2, threads=2, other_cores=0.0))
    steps = max(1, seen.num_steps)
    if reading is not None:
        step = make_step(reading * timeline.decode_ns / steps / MS)
        flops = round(0.6 * timeline.prefill_ns)
        half = replace(step, weight_bytes=step.weight_bytes // 2)
        seen = replace(
            seen, step=step, prefill=PrefillCost(flops, 1e9), other_weights={"int4": half}
        )
    return replace(seen, **more)
