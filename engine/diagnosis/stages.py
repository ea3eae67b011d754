"""Where the time of an answer went: its stages, as shares of the whole."""

from dataclasses import dataclass

from engine.api import MissKind
from engine.diagnosis.observation import Observation


@dataclass(frozen=True, slots=True)
class Shares:
    """Parts of the time from Send to the end; they add up to 1.

    ``text``: chat template, tokenizer and detokenizer. ``paint``: from the end of the answer to its
    first visible character, where that comes later; what is painted meanwhile holds nothing up, and
    a first character may be late because the first tokens are not to be seen.
    """

    queue: float
    text: float
    prefill: float
    decode: float
    paint: float

    @property
    def largest(self) -> str:
        """The name of the largest part."""
        return max(self.__slots__, key=lambda name: float(getattr(self, name)))


def shares_of(seen: Observation) -> Shares:
    """Divide the answer's time. Choosing the first token counts as prefill."""
    line = seen.timeline
    total = max(1, seen.total_ns)
    decode = max(0, line.end_ns - line.first_token_ns - line.detokenize_ns)
    return Shares(
        queue=max(0, line.queue_ns) / total,
        text=(line.tokenize_ns + line.detokenize_ns) / total,
        prefill=(line.prefill_ns + line.sample_ns) / total,
        decode=decode / total,
        paint=max(0, (line.first_paint_ns or 0) - line.end_ns) / total,
    )


def step_ns(seen: Observation) -> float:
    """Mean time of a decode step."""
    return seen.timeline.decode_ns / max(1, seen.num_steps)


def reading_share(seen: Observation) -> float | None:
    """What of a decode step reading takes at the ceiling; None without ceilings or steps."""
    mean = step_ns(seen)
    if seen.step is None or mean <= 0:
        return None
    return seen.step.read_s * 1e9 / mean


def computing_share(seen: Observation) -> float | None:
    """What of the prefill its arithmetic takes at the ceiling; None without ceilings."""
    if seen.prefill is None or seen.timeline.prefill_ns <= 0:
        return None
    return seen.prefill.seconds * 1e9 / seen.timeline.prefill_ns


def waited_share(seen: Observation) -> float | None:
    """What of the time the engine was ready to compute and had no core; None where not known.

    Where the system counts no such times, at least what the cores lack, evenly over the threads.
    """
    machine = seen.machine
    if machine.waited is not None:
        return machine.waited
    if machine.other_cores is None or machine.own_cores is None:
        return None
    wanted = machine.threads + machine.other_cores + machine.own_cores
    return min(1.0, max(0.0, wanted - machine.cores) / max(1, machine.threads))


def taken_share(seen: Observation) -> float | None:
    """What of the time the engine had no core, or one that the host had; None where not known.

    A thread that waits for a core loses nothing to the host meanwhile. Of what the host took this
    is the least: as if it took all processors at the same moments.
    """
    waited, stolen = waited_share(seen), seen.machine.stolen
    if waited is None or stolen is None:
        return stolen if waited is None else waited
    return waited + (1 - waited) * stolen


def beside_others(seen: Observation, share: float | None) -> float | None:
    """``share`` of the whole time as a share of that in which the engine had its cores."""
    lost = taken_share(seen)
    if share is None or lost is None or lost >= 1:
        return share
    return min(1.0, share / (1 - lost))


def decode_host_share(seen: Observation) -> float | None:
    """What of decode passed outside the model's kernels; None where it was not measured.

    Outside the native core the forward pass itself is the host's for as long as a step takes that
    has next to nothing to compute.
    """
    line = seen.timeline
    outside, whole = line.decode_host_ns, line.decode_ns
    if outside is None or whole <= 0:
        return None
    if not seen.is_native and seen.step is not None:
        outside += round(seen.step.overhead_s * 1e9) * seen.num_steps
    return min(1.0, outside / whole)


def prefill_host_share(seen: Observation) -> float | None:
    """What of the prefill passed outside the model's forward pass."""
    line = seen.timeline
    if line.prefill_forward_ns is None or line.prefill_ns <= 0:
        return None
    return max(0.0, 1 - line.prefill_forward_ns / line.prefill_ns)


def num_lost(seen: Observation) -> int:
    """Prompt tokens computed that an earlier turn had computed.

    With the cache off the engine cannot know them: then as many as the caller knows of.
    """
    miss = seen.timeline.cache_miss
    if miss is None:
        return 0
    if miss.kind is MissKind.CACHE_OFF:
        return min(miss.num_lost, seen.num_known_before)
    return miss.num_lost


def lost_share(seen: Observation) -> float:
    """What of the computed prompt tokens the cache could have given."""
    return min(1.0, num_lost(seen) / max(1, seen.num_computed))
