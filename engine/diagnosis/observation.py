"""What was observed of one answer and of the machine meanwhile: plain values, None where unknown.

Whoever fills this in has measured it; nothing here is assumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.api import Timeline


@dataclass(frozen=True, slots=True)
class StepCost:
    """What one decode step reads and pays, by ceilings that were measured on this machine.

    Bytes of weights and of cache, the rates they are read at (bytes/s), ``row_s`` seconds of
    arithmetic for each answer in the step, and ``overhead_s`` seconds of a step that has next to
    nothing to read.
    """

    weight_bytes: int
    cache_bytes: int
    weight_bytes_per_s: float
    cache_bytes_per_s: float
    row_s: float = 0.0
    overhead_s: float = 0.0

    @property
    def num_bytes(self) -> int:
        """Everything a step reads."""
        return self.weight_bytes + self.cache_bytes

    @property
    def read_s(self) -> float:
        """Seconds the reading alone takes at the ceilings."""
        weights = self.weight_bytes / self.weight_bytes_per_s
        return weights + self.cache_bytes / self.cache_bytes_per_s

    def step_s(self, rows: int = 1) -> float:
        """Seconds of a step at the ceilings, for ``rows`` answers at once."""
        return max(self.read_s, rows * self.row_s) + self.overhead_s


@dataclass(frozen=True, slots=True)
class PrefillCost:
    """Arithmetic of the prompt tokens that were computed, and the measured rates of it (per s).

    ``flops`` are those of the products; attention has a rate of its own. ``other_rates``: that of
    the products with weights of another precision, by the precision's name.
    """

    flops: int
    flops_per_s: float
    other_rates: Mapping[str, float] = field(default_factory=dict)
    attention_flops: int = 0
    attention_flops_per_s: float = 1.0

    @property
    def total_flops(self) -> int:
        """All of it."""
        return self.flops + self.attention_flops

    @property
    def products_s(self) -> float:
        """How long the products take at their ceiling."""
        return self.flops / self.flops_per_s

    @property
    def seconds(self) -> float:
        """How long it takes at the ceilings."""
        return self.products_s + self.attention_flops / self.attention_flops_per_s


@dataclass(frozen=True, slots=True)
class Offload:
    """A model of which some layers run beside the GPU.

    Bytes a step reads in each place and the rates there (bytes/s); ``free_bytes`` of the GPU are
    left, ``is_capped`` by a budget of the user's.
    """

    host_bytes: int
    host_bytes_per_s: float
    device_bytes: int
    device_bytes_per_s: float
    free_bytes: int = 0
    is_capped: bool = False

    @property
    def host_s(self) -> float:
        """Seconds of a step in the slower place."""
        return self.host_bytes / self.host_bytes_per_s

    @property
    def step_s(self) -> float:
        """Seconds of a step in both."""
        return self.host_s + self.device_bytes / self.device_bytes_per_s


@dataclass(frozen=True, slots=True)
class MachineState:
    """The machine while the answer was computed.

    ``other_cores``: cores that other programs kept busy, on average; ``own_cores``: that this
    program kept busy beside the engine. ``waited``: part of the time that the engine was ready to
    compute and had no core. ``stolen``: part of the processor time wanted here that the host of
    this virtual machine took. Frequencies in MHz, the present one under load.
    ``swapped_in_bytes``: read back from swap meanwhile.
    """

    cores: int
    threads: int
    other_cores: float | None = None
    mhz_now: float | None = None
    mhz_max: float | None = None
    temperature_c: float | None = None
    temperature_limit_c: float | None = None
    is_on_battery: bool | None = None
    is_saving_power: bool | None = None
    swapped_in_bytes: int = 0
    own_cores: float | None = None
    waited: float | None = None
    stolen: float | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """Everything a diagnosis is made of.

    ``step`` and ``prefill`` are None without the machine's ceilings. ``other_weights`` and
    ``other_kv``: what a step would cost with another precision, by its name; ``more_threads``: on
    more threads than now, by their number. ``num_ahead``:
    answers that were running or waiting when this one came; ``max_streams`` run at once.
    ``num_known_before``: prompt tokens that an earlier turn of the conversation had, where the
    cache is off. ``paint_delays_ns``: from a token to its pixels. ``is_native``: a step is one call of the native
    core, so that nothing but the core runs in the forward pass. ``keeps_cache`` False: each step
    computes the whole text anew.
    """

    timeline: Timeline
    machine: MachineState
    itl_ns: tuple[int, ...] = ()
    step: StepCost | None = None
    prefill: PrefillCost | None = None
    other_weights: Mapping[str, StepCost] = field(default_factory=dict)
    other_kv: Mapping[str, StepCost] = field(default_factory=dict)
    more_threads: Mapping[int, StepCost] = field(default_factory=dict)
    offload: Offload | None = None
    num_ahead: int = 0
    max_streams: int | None = None
    kv_bytes_per_token: int = 0
    kv_budget_bytes: int = 0
    num_known_before: int = 0
    paint_delays_ns: tuple[int, ...] = ()
    is_native: bool = True
    keeps_cache: bool = True

    @property
    def num_steps(self) -> int:
        """Decode steps of this answer."""
        line = self.timeline
        return max(0, line.num_output_tokens - 1 - line.num_accepted_tokens)

    @property
    def num_computed(self) -> int:
        """Prompt tokens that did not come from the cache."""
        return self.timeline.num_prompt_tokens - self.timeline.num_cached_tokens

    @property
    def total_ns(self) -> int:
        """From Send to the end of the answer, waiting for the model to load apart."""
        line = self.timeline
        end = max(line.end_ns, line.first_paint_ns or 0)
        return end - line.sent_ns - line.load_wait_ns
