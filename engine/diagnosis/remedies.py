"""What would help, and by how much: each gain is calculated from the observation alone.

A remedy without a calculation is no remedy here. Gains are of the whole answer, Send to end.
"""

import math
from collections.abc import Callable, Iterator, Mapping

from engine.api import DiagnosisKind, MissKind, Remedy
from engine.diagnosis.observation import Observation, StepCost
from engine.diagnosis.stages import lost_share, reading_share
from engine.diagnosis.thresholds import LEAST_GAIN

_MIB = 1 << 20
_MOST = 3
_Source = Callable[[Observation], Iterator[Remedy]]


def remedies_for(kind: DiagnosisKind, seen: Observation) -> tuple[Remedy, ...]:
    """The best of what helps against ``kind``, at most three, the best first."""
    found = [remedy for source in _SOURCES.get(kind, ()) for remedy in source(seen)]
    worth = [remedy for remedy in found if remedy.gain >= LEAST_GAIN]
    best: dict[str, Remedy] = {}
    for remedy in sorted(worth, key=lambda r: r.gain, reverse=True):
        best.setdefault(remedy.key, remedy)  # one value a setting
    return tuple(best.values())[:_MOST]


def _remedy(
    seen: Observation, key: str, saved: float, *, value: str | int | bool | None = None
) -> Remedy:
    """``saved``: ns of the whole answer; never all of it."""
    total = max(1, seen.total_ns)
    saved = min(max(0.0, saved), 0.99 * total)
    return Remedy(key, value, total / (total - saved), round(saved))


def _other_steps(
    seen: Observation, key: str, others: Mapping[str, StepCost] | Mapping[int, StepCost]
) -> Iterator[Remedy]:
    """Another precision of weights or cache, or other threads: the step's time at the ceilings, before and after."""
    if seen.step is None:
        return
    for name, cost in others.items():
        saved = seen.timeline.decode_ns * (1 - cost.step_s() / seen.step.step_s())
        yield _remedy(seen, key, saved, value=name)


def _fewer_bytes(seen: Observation) -> Iterator[Remedy]:
    yield from _other_steps(seen, "weights", seen.other_weights)
    yield from _other_steps(seen, "kv", seen.other_kv)
    yield from _other_steps(seen, "threads", seen.more_threads)
    line = seen.timeline
    yield from _cores_back(seen)
    yield from _quiet_host(seen)
    gain = line.guessing_gain
    if gain is not None and gain < 1:
        yield _remedy(seen, "draft", line.decode_ns * (1 - gain), value="off")


def _faster_products(seen: Observation) -> Iterator[Remedy]:
    if seen.prefill is None:
        return
    arithmetic = min(seen.prefill.products_s * 1e9, seen.timeline.prefill_ns)
    for name, rate in seen.prefill.other_rates.items():
        saved = arithmetic * (1 - seen.prefill.flops_per_s / rate)
        yield _remedy(seen, "weights", saved, value=name)


def _more_threads(seen: Observation) -> Iterator[Remedy]:
    """Arithmetic is divided evenly among threads; what others keep busy is left to them."""
    machine = seen.machine
    free = machine.cores - math.ceil((machine.other_cores or 0.0) - 0.25)
    if free > machine.threads:
        saved = seen.timeline.prefill_ns * (1 - machine.threads / free)
        yield _remedy(seen, "threads", saved, value=free)


def _kept_cache(seen: Observation) -> Iterator[Remedy]:
    if not seen.keeps_cache and seen.step is not None:
        with_cache = seen.num_steps * seen.step.step_s() * 1e9
        yield _remedy(seen, "kv_cache", seen.timeline.decode_ns - with_cache, value=True)
    miss = seen.timeline.cache_miss
    if miss is None:
        return
    saved = seen.timeline.prefill_ns * lost_share(seen)
    match miss.kind:
        case MissKind.CACHE_OFF:
            yield _remedy(seen, "prefix_cache", saved, value=True)
        case MissKind.EVICTED if seen.kv_bytes_per_token:
            wanted = seen.timeline.num_prompt_tokens + seen.timeline.num_output_tokens
            enough = seen.kv_budget_bytes + wanted * seen.kv_bytes_per_token
            yield _remedy(seen, "kv_budget_mib", saved, value=math.ceil(enough / _MIB))
        case MissKind.RELOADED:
            yield _remedy(seen, "keep_cache", saved, value=True)
        case _:
            return


def _more_streams(seen: Observation) -> Iterator[Remedy]:
    """All at once: the others' prompts still come first, then every step serves all of them."""
    if seen.max_streams is None or seen.num_ahead < seen.max_streams or seen.step is None:
        return
    line, rows = seen.timeline, seen.num_ahead + 1
    prompts = seen.num_ahead * line.prefill_ns
    slower = seen.step.step_s(rows) / seen.step.step_s(seen.max_streams)
    saved = line.queue_ns - prompts - line.decode_ns * (slower - 1)
    yield _remedy(seen, "max_streams", saved, value=rows)


def _fuller_card(seen: Observation) -> Iterator[Remedy]:
    """More of the model on the GPU: a higher budget, or fewer bytes."""
    there = seen.offload
    if there is None:
        return
    decode, now = seen.timeline.decode_ns, there.step_s
    if there.is_capped and there.free_bytes > 0:
        moved = min(there.free_bytes, there.host_bytes)
        gained = moved / there.host_bytes_per_s - moved / there.device_bytes_per_s
        budget = math.ceil((there.device_bytes + moved) / _MIB)
        yield _remedy(seen, "gpu_budget_mib", decode * gained / now, value=budget)
    whole = there.host_bytes + there.device_bytes
    for name, cost in seen.other_weights.items():
        if seen.step is None:
            return
        smaller = whole * cost.num_bytes / seen.step.num_bytes
        on_card = min(smaller, there.device_bytes)
        then = (smaller - on_card) / there.host_bytes_per_s
        then += on_card / there.device_bytes_per_s
        yield _remedy(seen, "weights", decode * (1 - then / now), value=name)


def _less_swapping(seen: Observation) -> Iterator[Remedy]:
    """Weights small enough leave nothing to swap: the step falls to its ceiling."""
    reading = reading_share(seen)
    if not seen.machine.swapped_in_bytes or seen.step is None or reading is None:
        return
    for name, cost in seen.other_weights.items():
        if seen.step.num_bytes - cost.num_bytes >= seen.machine.swapped_in_bytes:
            share = cost.step_s() / seen.step.step_s() * reading
            yield _remedy(seen, "weights", seen.timeline.decode_ns * (1 - share), value=name)


def _full_frequency(seen: Observation) -> Iterator[Remedy]:
    machine, line = seen.machine, seen.timeline
    if machine.mhz_now is not None and machine.mhz_max:
        share = machine.mhz_now / machine.mhz_max
        yield _remedy(seen, "power", (line.prefill_ns + line.decode_ns) * (1 - share))


def _cores_back(seen: Observation) -> Iterator[Remedy]:
    """The time without a core, as far as other programs had it."""
    machine, line = seen.machine, seen.timeline
    if machine.waited is None or not machine.other_cores:
        return
    theirs = machine.other_cores / (machine.other_cores + (machine.own_cores or 0.0))
    busy = line.prefill_ns + line.decode_ns
    yield _remedy(seen, "other_programs", busy * machine.waited * theirs)


def _quiet_machine(seen: Observation) -> Iterator[Remedy]:
    """All threads wait for the slowest, which shares its core."""
    machine, line = seen.machine, seen.timeline
    if machine.other_cores is None:
        return
    busy = line.prefill_ns + line.decode_ns
    if machine.waited is None:
        missing = min(1.0, machine.threads + machine.other_cores - machine.cores)
        slowest = max(1 / (1 + missing), reading_share(seen) or 0.0)
        yield _remedy(seen, "other_programs", busy * (1 - slowest))
    else:
        slowest = 1 - machine.waited
        yield from _cores_back(seen)
    fewer = math.floor(machine.cores - machine.other_cores + 0.1)
    if 0 < fewer < machine.threads:  # cores that nobody else wants
        yield _remedy(seen, "threads", busy * (1 - machine.threads * slowest / fewer), value=fewer)


def _quiet_host(seen: Observation) -> Iterator[Remedy]:
    """The time that the host took, at least: threads that wait for each other lose more."""
    line = seen.timeline
    if seen.machine.stolen:
        yield _remedy(seen, "quiet_host", (line.prefill_ns + line.decode_ns) * seen.machine.stolen)


def _native_step(seen: Observation) -> Iterator[Remedy]:
    """Another precision whose layers are one native call."""
    if seen.is_native or seen.step is None:
        return
    for name, cost in seen.other_weights.items():
        saved = seen.num_steps * (seen.step.step_s() - cost.step_s()) * 1e9
        yield _remedy(seen, "weights", saved, value=name)


_SOURCES: Mapping[DiagnosisKind, tuple[_Source, ...]] = {
    DiagnosisKind.PREFILL_BOUND: (_faster_products, _more_threads),
    DiagnosisKind.DECODE_BOUND: (_fewer_bytes,),
    DiagnosisKind.HOST_BOUND: (_native_step,),
    DiagnosisKind.QUEUE_BOUND: (_more_streams,),
    DiagnosisKind.CACHE_MISS: (_kept_cache,),
    DiagnosisKind.MEMORY_SPILLED: (_fuller_card, _less_swapping),
    DiagnosisKind.THROTTLED: (_full_frequency,),
    DiagnosisKind.CONTENDED: (_quiet_machine,),
    DiagnosisKind.STOLEN: (_quiet_host,),
}
