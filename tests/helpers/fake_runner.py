"""A model without arithmetic: it writes token ids into slots and answers from what it reads back.

Whatever the scheduler and the block tables mix up changes the answer, because the next token is a
function of every token found in the request's slots.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from engine.model.batch import ForwardInterruptedError
from engine.sampling.constraint import TokenConstraint
from engine.scheduling.plan import ScheduledChunk, StepOutput, StepPlan


@dataclass
class FakeClock:
    """Every reading is ``step_ns`` later than the one before."""

    step_ns: int = 1_000_000
    now: int = 0

    def __call__(self) -> int:
        self.now += self.step_ns
        return self.now


def next_token(context: Sequence[int], vocab_size: int) -> int:
    """What the fake model says after ``context``."""
    return sum((index + 1) * token for index, token in enumerate(context)) % vocab_size


def expected_answer(
    prompt: Sequence[int],
    length: int,
    vocab_size: int,
    constraint: TokenConstraint | None = None,
) -> list[int]:
    """The fake model's answer, computed without any cache."""
    known = list(prompt)
    for _ in range(length):
        token = next_token(known, vocab_size)
        known.append(_constrained(token, constraint, known[len(prompt) :]))
    return known[len(prompt) :]


def _constrained(token: int, constraint: TokenConstraint | None, output: Sequence[int]) -> int:
    """``token``, or the next one after it that may follow ``output``."""
    if constraint is None:
        return token
    allowed = constraint.allowed(output)
    return next(
        t % len(allowed) for t in range(token, token + len(allowed)) if allowed[t % len(allowed)]
    )


@dataclass
class FakeText:
    """Writes token 65 as "A"; ends at ``stop_token`` and holds back ``held`` until the flush."""

    stop_token: int | None = None
    held: str = ""
    stopped: bool = False

    def push(self, token_id: int) -> str:
        self.stopped = token_id == self.stop_token
        return "" if self.stopped else chr(token_id)

    def flush(self) -> str:
        text, self.held = self.held, ""
        return text

    def take_reasoning(self) -> str:
        return ""


@dataclass
class FakeRunner:
    """Runs plans over a list of slots.

    ``scripts`` gives the tokens of an answer instead, by request id. ``before`` is called with
    each plan and may raise, block, or look.
    """

    num_blocks: int
    block_size: int
    vocab_size: int = 89
    clock: Callable[[], int] = field(default_factory=FakeClock)
    scripts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    before: Callable[[StepPlan], None] | None = None
    plans: list[StepPlan] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.slots: list[int | None] = [None] * (self.num_blocks * self.block_size)

    def run(self, plan: StepPlan, interrupted: Callable[[], bool]) -> StepOutput:
        if self.before is not None:
            self.before(plan)
        self.plans.append(plan)
        for chunk in plan.chunks:
            if chunk.copy is not None:
                source, target = (block * self.block_size for block in chunk.copy)
                self.slots[target : target + self.block_size] = self.slots[
                    source : source + self.block_size
                ]
        for chunk in plan.chunks:
            for offset, token in enumerate(chunk.token_ids):
                self.slots[self._slot(chunk, chunk.start + offset)] = token
        if interrupted():
            raise ForwardInterruptedError
        forward_end = self.clock()
        sampled = {c.request_id: self._choose(c) for c in plan.chunks if c.num_logits}
        return StepOutput(sampled, forward_end, self.clock())

    def _choose(self, chunk: ScheduledChunk) -> tuple[int, ...]:
        """The answer's next tokens: as many more as guesses were right."""
        assert chunk.num_logits == 1 + chunk.num_drafts
        chosen: list[int] = []
        for guess in (*chunk.token_ids[chunk.num_known :], None):
            chosen.append(self._sample(chunk, len(chosen)))
            if chosen[-1] != guess:
                break
        return tuple(chosen)

    def _sample(self, chunk: ScheduledChunk, num_guesses: int) -> int:
        script = self.scripts.get(chunk.request_id)
        if script is not None:
            return script[chunk.sample_index + num_guesses]
        end = chunk.start + chunk.num_known + num_guesses
        context = [self.slots[self._slot(chunk, position)] for position in range(end)]
        known = [*chunk.known_ids, *chunk.token_ids[chunk.num_known :]]
        assert context == known[:end], "the blocks hold another text"
        token = next_token([token for token in context if token is not None], self.vocab_size)
        output = chunk.known_ids[len(chunk.known_ids) - chunk.sample_index :]
        return _constrained(token, chunk.constraint, output)

    def _slot(self, chunk: ScheduledChunk, position: int) -> int:
        block, offset = divmod(position, self.block_size)
        return chunk.block_ids[block] * self.block_size + offset
