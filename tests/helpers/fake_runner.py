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
    """Runs plans over a list of slots, and over one more for each group of layers with a window.

    ``windows``: blocks and window of each further group; ``window``: of the first one. Every row
    must find what it looks back on. ``scripts`` gives the tokens of an answer instead, by request id. ``before`` is called with
    each plan and may raise, block, or look.
    """

    num_blocks: int
    block_size: int
    vocab_size: int = 89
    clock: Callable[[], int] = field(default_factory=FakeClock)
    scripts: Mapping[str, Sequence[int]] = field(default_factory=dict)
    before: Callable[[StepPlan], None] | None = None
    plans: list[StepPlan] = field(default_factory=list)
    window: int = 0
    windows: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        sizes = [self.num_blocks, *(count for count, _window in self.windows)]
        self.pools: list[list[int | None]] = [[None] * (n * self.block_size) for n in sizes]
        self.slots = self.pools[0]

    def run(self, plan: StepPlan, interrupted: Callable[[], bool]) -> StepOutput:
        if self.before is not None:
            self.before(plan)
        self.plans.append(plan)
        for chunk in plan.chunks:
            for pool, copy in zip(self.pools, _copies(chunk), strict=True):
                if copy is not None:
                    source, target = (block * self.block_size for block in copy)
                    pool[target : target + self.block_size] = pool[
                        source : source + self.block_size
                    ]
        for chunk in plan.chunks:
            for group, pool in enumerate(self.pools):
                for offset, token in enumerate(chunk.token_ids):
                    slot = self._slot(chunk, chunk.start + offset, group)
                    assert slot >= self.block_size or not self._window_of(group), "the null block"
                    pool[slot] = token
        for chunk in plan.chunks:
            self._look_back(chunk)
        if interrupted():
            raise ForwardInterruptedError
        forward_end = self.clock()
        sampled = {c.request_id: self._choose(c) for c in plan.chunks if c.num_logits}
        return StepOutput(sampled, forward_end, self.clock())

    def _window_of(self, group: int) -> int:
        return self.windows[group - 1][1] if group else self.window

    def _look_back(self, chunk: ScheduledChunk) -> None:
        """Every row of the chunk sees its text in every group, as far as its window goes."""
        known = [*chunk.known_ids, *chunk.token_ids[chunk.num_known :]]
        end = chunk.start + len(chunk.token_ids)
        for group, pool in enumerate(self.pools):
            window = self._window_of(group)
            first = max(0, chunk.start - window + 1) if window else 0
            seen = [pool[self._slot(chunk, at, group)] for at in range(first, end)]
            assert seen == known[first:end], "the blocks hold another text"

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
        context = [*chunk.known_ids, *chunk.token_ids[chunk.num_known :]][:end]
        if not self.window:
            assert context == [self.slots[self._slot(chunk, at)] for at in range(end)]
        token = next_token(context, self.vocab_size)
        output = chunk.known_ids[len(chunk.known_ids) - chunk.sample_index :]
        return _constrained(token, chunk.constraint, output)

    def _slot(self, chunk: ScheduledChunk, position: int, group: int = 0) -> int:
        block, offset = divmod(position, self.block_size)
        table = chunk.windows[group - 1].block_ids if group else chunk.block_ids
        return table[block] * self.block_size + offset


def _copies(chunk: ScheduledChunk) -> list[tuple[int, int] | None]:
    """The copy that each group of layers begins with."""
    return [chunk.copy, *(table.copy for table in chunk.windows)]
