"""Clocks, percentiles and gauges. Imports no torch; knows requests only by their time stamps."""

import itertools
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import psutil

from engine.api import Timeline

Clock = Callable[[], int]
now_ns: Clock = time.perf_counter_ns


@dataclass(slots=True)
class Marks:
    """When one request reached each stage, as far as it came; all in ns of one clock."""

    sent_ns: int
    tokenize_start_ns: int
    tokenize_end_ns: int
    load_wait_ns: int = 0
    prefill_start_ns: int | None = None
    prefill_end_ns: int | None = None
    first_token_ns: int | None = None
    last_token_ns: int | None = None
    template_ns: int = 0
    detokenize_ns: int = 0
    text_end_ns: int | None = None
    decode_sample_ns: int = 0
    forward_at_start_ns: int = 0
    forward_at_first_ns: int = 0
    forward_at_last_ns: int = 0

    def note_token(self, forward_end_ns: int, sampled_ns: int, forward_total_ns: int = 0) -> None:
        """Note that a token was chosen at ``sampled_ns`` from logits ready at ``forward_end_ns``.

        ``forward_total_ns``: what all forward passes took since the model was loaded.
        """
        if self.first_token_ns is None:
            self.prefill_end_ns = forward_end_ns
            self.first_token_ns = sampled_ns
            self.forward_at_first_ns = forward_total_ns
        elif sampled_ns != self.last_token_ns:  # tokens of one step are chosen together
            self.decode_sample_ns += sampled_ns - forward_end_ns
        self.last_token_ns = sampled_ns
        self.forward_at_last_ns = forward_total_ns

    def note_text(self, start_ns: int, end_ns: int) -> None:
        """Note that a token was turned into text."""
        self.detokenize_ns += end_ns - start_ns
        self.text_end_ns = end_ns

    def timeline(self, *, prompt: int, cached: int, output: int) -> Timeline | None:
        """The finished timeline with its token counts; None when no token was produced."""
        if (
            self.prefill_start_ns is None
            or self.prefill_end_ns is None
            or self.first_token_ns is None
            or self.last_token_ns is None
        ):
            return None
        is_measured = self.forward_at_last_ns > 0
        prefill_forward_ns = self.forward_at_first_ns - self.forward_at_start_ns
        decode_forward_ns = self.forward_at_last_ns - self.forward_at_first_ns
        return Timeline(
            sent_ns=self.sent_ns,
            tokenize_start_ns=self.tokenize_start_ns,
            tokenize_end_ns=self.tokenize_end_ns,
            prefill_start_ns=self.prefill_start_ns,
            prefill_end_ns=self.prefill_end_ns,
            first_token_ns=self.first_token_ns,
            last_token_ns=self.last_token_ns,
            load_wait_ns=self.load_wait_ns,
            num_prompt_tokens=prompt,
            num_cached_tokens=cached,
            num_output_tokens=output,
            template_ns=self.template_ns,
            detokenize_ns=self.detokenize_ns,
            text_end_ns=self.text_end_ns,
            prefill_forward_ns=prefill_forward_ns if is_measured else None,
            decode_forward_ns=decode_forward_ns if is_measured else None,
            decode_sample_ns=self.decode_sample_ns,
        )


def overlap_ns(start: int, end: int, other_start: int, other_end: int) -> int:
    """How long the spans [start, end] and [other_start, other_end] overlap."""
    return max(0, min(end, other_end) - max(start, other_start))


@dataclass(frozen=True, slots=True)
class Distribution:
    """What is said of a set of durations, in ns."""

    p50: int
    p95: int
    max: int


def percentile(sorted_values: Sequence[int], fraction: float) -> int:
    """The smallest value that at least ``fraction`` of ``sorted_values`` do not exceed."""
    place = math.ceil(fraction * len(sorted_values)) - 1
    return sorted_values[max(0, place)]


def inter_token_latencies(times_ns: Sequence[int]) -> list[int]:
    """Time between each token of one answer and the one before it."""
    return [later - earlier for earlier, later in itertools.pairwise(times_ns)]


def summarise(durations_ns: Sequence[int]) -> Distribution | None:
    """p50, p95 and maximum; None of nothing."""
    if not durations_ns:
        return None
    ordered = sorted(durations_ns)
    return Distribution(percentile(ordered, 0.5), percentile(ordered, 0.95), ordered[-1])


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes of main memory: this process, everything else, and what the machine has."""

    process: int
    other_programs: int
    total: int
    available: int


class MemoryGauge:
    """Reads main memory of this process and machine."""

    def __init__(self) -> None:
        self._process = psutil.Process()

    def read(self) -> MemoryUse:
        """Resident bytes now. What the system can free at once counts as available, not used."""
        machine = psutil.virtual_memory()
        process = int(self._process.memory_info().rss)
        total, available = int(machine.total), int(machine.available)
        return MemoryUse(process, max(0, total - available - process), total, available)


class Throttle:
    """Lets something through at most once in ``interval_ns``."""

    def __init__(self, interval_ns: int) -> None:
        self._interval_ns = interval_ns
        self._next_ns: int | None = None

    def is_due(self, at_ns: int) -> bool:
        """Whether it may happen at ``at_ns``; if so, it counts as having happened."""
        if self._next_ns is not None and at_ns < self._next_ns:
            return False
        self._next_ns = at_ns + self._interval_ns
        return True
