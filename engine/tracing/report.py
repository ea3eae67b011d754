"""An answer's report: what ``python -m engine trace`` prints and a window shows.

Puts the observation of an answer together and has it diagnosed; measures nothing itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.api import (
    AnswerReport,
    CacheUse,
    ChunkTime,
    MachineUse,
    ModelInfo,
    PaintUse,
    Roofline,
    RoofPoint,
    StallCause,
    Timeline,
)
from engine.api.stages import stages_of
from engine.diagnosis.observation import MachineState, Observation
from engine.diagnosis.stages import computing_share, reading_share, step_ns
from engine.diagnosis.verdict import diagnose
from engine.metrics import inter_token_latencies, summarise
from engine.tracing.costs import ModelCosts
from engine.tracing.gaps import find_stalls
from engine.tracing.recorder import Trace


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a trace does not know: options the model was loaded with, and what else was watched.

    ``watched``: spans in which something held the process up. ``free_bytes`` of the GPU.
    ``is_complete``: the answer has ended.
    """

    machine: MachineState
    max_streams: int | None = None
    watched: Mapping[StallCause, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    free_bytes: int = 0
    has_gpu_budget: bool = False
    paint_delays_ns: tuple[int, ...] = ()
    num_known_before: int = 0
    keeps_cache: bool = True
    is_complete: bool = True


def observe(
    trace: Trace, line: Timeline, info: ModelInfo, costs: ModelCosts, around: Circumstances
) -> Observation:
    """Everything a diagnosis needs of an answer; the context is the mean one of its tokens."""
    context = _mean_context(line)
    return Observation(
        timeline=line,
        machine=around.machine,
        itl_ns=tuple(inter_token_latencies(trace.times_ns)),
        step=costs.step(context),
        prefill=costs.prefill(line.num_prompt_tokens, line.num_cached_tokens),
        other_weights=costs.other_weights(context),
        other_kv=costs.other_kv(context),
        more_threads=costs.more_threads(context),
        offload=costs.offload(context, around.free_bytes, is_capped=around.has_gpu_budget),
        num_ahead=trace.num_ahead,
        max_streams=around.max_streams,
        kv_bytes_per_token=info.kv_bytes_per_token,
        kv_budget_bytes=info.kv_budget_bytes,
        num_known_before=around.num_known_before,
        paint_delays_ns=around.paint_delays_ns,
        is_native=costs.is_native,
        keeps_cache=around.keeps_cache,
    )


def report(
    trace: Trace, line: Timeline, info: ModelInfo, costs: ModelCosts, around: Circumstances
) -> AnswerReport:
    """All of it."""
    seen = observe(trace, line, info, costs, around)
    sent = line.sent_ns
    collections = around.watched.get(StallCause.COLLECTOR, ())
    return AnswerReport(
        request_id=trace.request_id,
        model=info.name,
        precision=info.precision.value,
        is_complete=around.is_complete,
        timeline=line,
        stages=tuple(stages_of(line)),
        chunks=tuple(
            ChunkTime(chunk.start_ns - sent, chunk.end_ns - sent, chunk.start, chunk.num_tokens)
            for chunk in trace.chunks
        ),
        times_ns=tuple(at - sent for at in trace.times_ns),
        token_ids=trace.token_ids,
        stalls=tuple(find_stalls(trace, around.watched)),
        others=_within(trace.others, line),
        collections=_within(collections, line),
        cache=_cache_use(line, info, costs),
        roofline=_roofline(trace, seen, costs),
        diagnosis=diagnose(seen),
        paint=_paint_use(around.paint_delays_ns),
        mean_mhz=around.machine.mhz_now,
        machine=_machine_use(around.machine),
    )


def _mean_context(line: Timeline) -> int:
    return line.num_prompt_tokens + line.num_output_tokens // 2


def _within(spans: tuple[tuple[int, int], ...], line: Timeline) -> tuple[tuple[int, int], ...]:
    """Those that touch the answer, after Send."""
    sent, last = line.sent_ns, line.end_ns
    return tuple((start - sent, end - sent) for start, end in spans if end > sent and start < last)


def _paint_use(delays_ns: tuple[int, ...]) -> PaintUse | None:
    spread = summarise(delays_ns)
    if spread is None:
        return None
    return PaintUse(len(delays_ns), spread.p50, spread.p95, spread.max)


def _machine_use(state: MachineState) -> MachineUse:
    return MachineUse(
        cores=state.cores,
        threads=state.threads,
        other_cores=state.other_cores,
        mhz_now=state.mhz_now,
        mhz_max=state.mhz_max,
        temperature_c=state.temperature_c,
        temperature_limit_c=state.temperature_limit_c,
        is_on_battery=state.is_on_battery,
        is_saving_power=state.is_saving_power,
        own_cores=state.own_cores,
        waited=state.waited,
        stolen=state.stolen,
    )


def _cache_use(line: Timeline, info: ModelInfo, costs: ModelCosts) -> CacheUse:
    """This answer's cache at its end; the last token chosen is not in it yet."""
    tokens = line.num_prompt_tokens + line.num_output_tokens - 1
    block = info.kv_block_size
    kinds, held = tuple(costs.kept(tokens)), costs.held(tokens)
    every_token = info.kv_bytes_per_token * tokens
    every_block = info.kv_bytes_per_token * -(-tokens // block) * block
    return CacheUse(
        num_tokens=tokens,
        num_bytes=sum(kind.num_bytes for kind in kinds) if kinds else every_token,
        allocated_bytes=every_block if held is None else held,
        bytes_per_token=info.kv_bytes_per_token,
        dtype=info.kv_dtype,
        budget_bytes=info.kv_budget_bytes,
        shared_tokens=line.num_cached_tokens,
        kinds=kinds,
    )


def _roofline(trace: Trace, seen: Observation, costs: ModelCosts) -> Roofline | None:
    """Where prefill and decode lie below the ceilings; None without ceilings."""
    step, prefill, ceilings = seen.step, seen.prefill, costs.ceilings
    if step is None or prefill is None or ceilings is None:
        return None
    line = seen.timeline
    flops = costs.token_flops(_mean_context(line)) or 0
    mean_s = step_ns(seen) / 1e9
    chunks = max(1, len(trace.chunks))
    read = chunks * step.weight_bytes + seen.num_computed * seen.kv_bytes_per_token
    prefill_s = line.prefill_ns / 1e9
    rate = step.num_bytes / step.read_s
    return Roofline(
        device=ceilings.device,
        threads=ceilings.threads,
        read_bytes_per_s=ceilings.read_bytes_per_s,
        prefill=RoofPoint(
            num_bytes=read,
            flops=prefill.total_flops,
            bytes_per_s=read / prefill_s if prefill_s else None,
            flops_per_s=prefill.total_flops / prefill_s if prefill_s else None,
            bytes_per_s_ceiling=rate,
            flops_per_s_ceiling=prefill.total_flops / prefill.seconds,
            share=computing_share(seen),
            cache_bytes=read - chunks * step.weight_bytes,
        ),
        decode=RoofPoint(
            num_bytes=step.num_bytes,
            flops=flops,
            bytes_per_s=step.num_bytes / mean_s if mean_s else None,
            flops_per_s=flops / mean_s if mean_s else None,
            bytes_per_s_ceiling=rate,
            flops_per_s_ceiling=prefill.total_flops / prefill.seconds,
            share=reading_share(seen),
            cache_bytes=step.cache_bytes,
        ),
    )
