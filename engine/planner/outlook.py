"""The verdict on one wish: where the model would lie, and whether a margin is left.

Finds room with the loader's own code, so that a model is too large here exactly where loading it
would be refused.
"""

from dataclasses import dataclass, replace

from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import BLOCK_TOKENS, whole_blocks
from engine.model.footprint.fit import (
    RUNTIME_BYTES,
    Demand,
    Fitted,
    Fitter,
    Mode,
    Need,
    Place,
    Shortage,
)
from engine.model.footprint.setup import Setup
from engine.model.footprint.weights import resolve_precision
from engine.planner.machine import Machine
from engine.planner.room import GB, Memory, Verdict, explain, explain_use, judge
from engine.planner.speed import Parts
from engine.planner.wish import DEFAULT_CONTEXT, Wish


@dataclass(frozen=True, slots=True)
class Needed:
    """Bytes on all devices that hold a part."""

    weights: int
    kv: int
    activations: int
    runtime: int
    total: int
    peak: int

    @classmethod
    def of(cls, needs: list[Need]) -> "Needed":
        """The sum of ``needs``, one a device."""
        return cls(
            weights=sum(need.weights for need in needs),
            kv=sum(need.kv for need in needs),
            activations=sum(need.activations for need in needs),
            runtime=RUNTIME_BYTES * len(needs),
            total=sum(need.total for need in needs),
            peak=sum(need.peak for need in needs),
        )


class Outlook:
    """What becomes of ``wish`` on ``machine``, or on its host where the GPU can hold no layer."""

    def __init__(self, blueprint: Blueprint, wish: Wish, machine: Machine) -> None:
        self._blueprint = blueprint
        self._wish = wish
        self._mode = Mode(resolve_precision(blueprint, wish.weights), wish.kv, wish.streams)
        self._is_left_to_host = False
        self._look(machine)
        if machine.host is not None and self._takes_all_layers():
            self._is_left_to_host = True
            self._look(machine.host)

    def _look(self, machine: Machine) -> None:
        self.machine = machine
        host = None if machine.host is None else _place(machine.host, None)
        place = _place(machine, self._wish.gpu_budget)
        self._fitter = Fitter(self._blueprint, self._mode, place, host)
        self._found = self._fitter.fit(self._demand())

    def _takes_all_layers(self) -> bool:
        found = self._found
        return isinstance(found, Fitted) and found.cpu_layers == self._blueprint.num_layers

    def _demand(self) -> Demand:
        asked = self._wish.context
        context = asked or min(self._blueprint.context_length, DEFAULT_CONTEXT)
        pool = whole_blocks(context)
        return Demand(context, pool, BLOCK_TOKENS if asked is None else pool, asked is None)

    # ------------------------------------------------------------------ the verdict

    @property
    def setup(self) -> Setup:
        """How it would run on the device that has most of the say."""
        found, demand = self._found, self._demand()
        context = found.context if isinstance(found, Fitted) else demand.context
        return replace(self._fitter.setup, context=context)

    @property
    def cpu_layers(self) -> int:
        """Layers on the CPU beside a GPU; all of them where the GPU can hold none."""
        if self._is_left_to_host:
            return self._blueprint.num_layers
        return self._found.cpu_layers if isinstance(self._found, Fitted) else 0

    @property
    def needed(self) -> Needed:
        """What all parts take; where there is no room, what the whole would take."""
        found, demand = self._found, self._demand()
        if isinstance(found, Shortage):
            return Needed.of([self._fitter.need(demand.context, demand.pool)])
        return Needed.of([found.device] if found.host is None else [found.device, found.host])

    @property
    def verdict(self) -> Verdict:
        """FITS: with the margin to spare, and with all the context that was asked for."""
        verdict = self._judge(self._found)
        is_short = self.setup.context < self._demand().context
        return Verdict.TIGHT if is_short and verdict is Verdict.FITS else verdict

    @property
    def available_bytes(self) -> int:
        """What is free for it on all devices that would hold a part."""
        usable = self.machine.memory.usable_bytes
        host = self.machine.host
        is_split = host is not None and (isinstance(self._found, Shortage) or self.cpu_layers > 0)
        return usable + (host.memory.usable_bytes if host is not None and is_split else 0)

    def _judge(self, found: Fitted | Shortage) -> Verdict:
        """A cut fills the GPU on purpose, so the margin is wanted of the computer's memory."""
        if isinstance(found, Shortage):
            return Verdict.TOO_LARGE
        need, memory = self._margin_of(found)
        is_roomy = judge(need.peak, memory) is Verdict.FITS
        return Verdict.FITS if is_roomy else Verdict.TIGHT

    def _margin_of(self, found: Fitted) -> tuple[Need, Memory]:
        host = self.machine.host
        if found.host is not None and host is not None:
            return found.host, host.memory
        return found.device, self.machine.memory

    def largest_context(self) -> int:
        """Tokens a stream that would fit with the margin to spare, 0 if none do."""
        low, high = 0, self._blueprint.context_length
        while low < high:
            middle = (low + high + 1) // 2
            pool = whole_blocks(middle)
            found = self._fitter.fit(Demand(middle, pool, pool))
            if self._judge(found) is Verdict.FITS:
                low = middle
            else:
                high = middle - 1
        return low

    # ------------------------------------------------------------------ in words, and for speeds

    def parts(self) -> Parts:
        """What runs where."""
        found, host = self._found, self.machine.host
        if isinstance(found, Shortage) or found.host is None or host is None:
            return Parts(self.setup)
        there = replace(self.setup, target=host.target)
        return Parts(self.setup, there, found.cpu_layers / self._blueprint.num_layers)

    def reasons(self) -> list[str]:
        """The verdict and its figures, a sentence each."""
        found, memory = self._found, self.machine.memory
        reasons = []
        if self._is_left_to_host:
            reasons.append("The graphics card can hold none of its layers; all run on the CPU.")
        if isinstance(found, Fitted) and found.host is not None:
            reasons += self._about_cut(found, found.host)
        else:
            reasons += explain(self.needed.peak, memory, self.verdict)
        if self.machine.host is not None and isinstance(found, Shortage):
            reasons.append(
                f"Shared with the CPU, {found.needed / GB:.2f} GB of"
                f" {found.available / GB:.2f} GB of free memory would be needed there."
            )
        if self.setup.context < self._demand().context:
            reasons.append(
                f"Its context would be shortened to {self.setup.context:,} tokens to fit."
            )
        return reasons

    def _about_cut(self, found: Fitted, on_host: Need) -> list[str]:
        memory, host = self.machine.memory, self.machine.host
        if host is None:
            return []
        total = self._blueprint.num_layers
        cut = (
            f"{found.cpu_layers} of {total} layers run on the CPU: the graphics card takes about"
            f" {found.device.peak / GB:.2f} GB of {memory.usable_bytes / GB:.2f} GB free."
        )
        return [cut, *explain(on_host.peak, host.memory, self.verdict), *explain_use(memory)]


def _place(machine: Machine, budget: int | None) -> Place:
    memory = machine.memory
    return Place(memory.usable_bytes, machine.target, budget if memory.is_cuda else None)
