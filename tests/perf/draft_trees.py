"""Whether guesses should branch: chains against trees with as many nodes, on real greedy answers.

    python -m tests.perf.draft_trees MODEL [--tokens 256] [--costs 1.00 1.15 ...]

The model answers greedily: questions of a chat, texts that repeat themselves, code. Each answer is
then walked through as if it were guessed: at every step a drafter guesses from what is known, as
many guesses count as lead along the answer, and the next step begins behind them. A chain of n
nodes follows the drafter's first choice. A tree of n nodes keeps a chain for most of them and lets
the others follow its second choice for the first token, or for every token. Drafters: n-grams of
the answer and its prompt (the second choice is what followed an earlier occurrence, or a shorter
one), and the model itself with a part of its layers, which stands in for a smaller sibling: what
it would guess is read off one pass over the true answer.

A step of n + 1 rows costs what it is measured to cost, all lengths in turn (or what an earlier run
on a quiet machine has printed: ``--costs``); the speed is tokens a step over that cost. Drafting
itself is not charged, which favours neither; nor is the mask that a tree needs, which favours
trees. Every shape is tried, and the best of each kind is printed.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from engine.api import Message, ModelOptions, SamplingParams
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardBatch, Segment
from engine.model.loader import LoadedModel, load_model
from engine.model.native import NativeDecoder
from engine.runner import Runner
from engine.sampling.sampler import Sampler
from engine.scheduling.plan import ScheduledChunk, StepPlan
from engine.text.template import encode_chat

MOST = 12  # nodes
SIZES = (4, 3, 2)
PARTS = (0.8, 0.6)
ROUNDS = 40
TEXTS = {
    "chat": (
        "Why is the sky blue?",
        "Write a short letter that thanks a neighbour for watering the plants.",
        "What should one take along on a day of hiking in the mountains?",
        "Explain to a child how a bicycle keeps its balance.",
    ),
    "repetitive": (
        "Repeat this list three times: apple, pear, plum, cherry, quince, apricot, peach.",
        "Copy this and correct it: The ferry leeves the harbour at noon, when the tide has turnd.",
        "Count from one to forty in words.",
    ),
    "code": (
        "Write a Python class for a bank account with deposit, withdraw and transfer methods.",
        "Write a Python function that sorts a list by merging, and tests for it.",
        "Write an HTML page with a table of five cities, their countries and populations.",
    ),
}

Guesses = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Trace:
    """Prompt and greedy answer."""

    ids: tuple[int, ...]
    num_prompt: int


@dataclass(frozen=True, slots=True)
class Shape:
    """``main`` nodes follow the first choices; ``branch`` nodes a second one.

    ``is_comb``: single second choices beside the first ``branch`` nodes; else one chain that
    begins with the second choice for the first token.
    """

    main: int
    branch: int = 0
    is_comb: bool = False

    def __str__(self) -> str:
        """In words."""
        if not self.branch:
            return f"chain of {self.main}"
        return f"{self.main} + {self.branch} {'beside them' if self.is_comb else 'in a branch'}"


# guesses from (trace, place): the first choices, and a function from depth to the second choices
Drafter = Callable[[Trace, int], tuple[Guesses, Callable[[int], Guesses]]]


# ---------------------------------------------------------------------- drafters
def ngrams(trace: Trace, place: int) -> tuple[Guesses, Callable[[int], Guesses]]:
    """What followed where the last tokens stood before, the latest first."""
    found = list(_continuations(trace.ids, place))
    first = found[0] if found else ()

    def second(depth: int) -> Guesses:
        """Another one that agrees with the first for ``depth`` tokens and then does not."""
        for other in found[1:]:
            if (
                other[:depth] == first[:depth]
                and other[depth : depth + 1] != first[depth : depth + 1]
            ):
                return other[depth:]
        return ()

    return first, second


def _continuations(ids: Sequence[int], place: int) -> Iterator[Guesses]:
    for size in SIZES:
        ending = ids[place - size : place]
        for at in range(place - 1, size - 1, -1):
            if ids[at - size : at] == ending:
                yield _copied(ids, at, place)


def _copied(ids: Sequence[int], at: int, place: int) -> Guesses:
    """MOST tokens from ``at`` on; what reaches ``place`` goes on into its own guesses."""
    guesses: list[int] = []
    for offset in range(at, at + MOST):
        late = offset - place
        guesses.append(ids[offset] if late < 0 else guesses[late])
    return tuple(guesses)


class Sibling:
    """A model's first and second choices along true answers."""

    def __init__(
        self, decoder: NativeDecoder, model: LoadedModel, traces: Sequence[Trace]
    ) -> None:
        self._choices = {trace: _top_two(decoder, model, trace) for trace in traces}

    def __call__(self, trace: Trace, place: int) -> tuple[Guesses, Callable[[int], Guesses]]:
        """As far as it is right, its choices are those along the true answer."""
        top = self._choices[trace]
        first = tuple(int(row[0]) for row in top[place - 1 : place - 1 + MOST])

        def second(depth: int) -> Guesses:
            rows = top[place - 1 + depth : place - 1 + MOST]
            return tuple(int(row[0 if i else 1]) for i, row in enumerate(rows))

        return first, second


# ---------------------------------------------------------------------- walks
def walk(trace: Trace, draft: Drafter, shape: Shape) -> Iterator[tuple[int, int]]:
    """For each step the rows it has and the tokens it gives."""
    place = trace.num_prompt
    while place < len(trace.ids):
        first, second = draft(trace, place)
        rest = trace.ids[place:]
        main = first[: shape.main]
        right = _common(main, rest)
        nodes = len(main)
        if shape.is_comb:
            sides = [second(depth)[:1] for depth in range(min(shape.branch, len(main)))]
            nodes += sum(map(len, sides))
            if right < len(sides) and sides[right] and sides[right] == rest[right : right + 1]:
                right += 1
        elif shape.branch:
            branch = second(0)[: shape.branch]
            nodes += len(branch)
            right = max(right, _common(branch, rest))
        given = min(right + 1, len(rest))
        yield nodes + 1, given
        place += given


def _common(guesses: Guesses, rest: Guesses) -> int:
    count = 0
    while count < min(len(guesses), len(rest)) and guesses[count] == rest[count]:
        count += 1
    return count


def shapes() -> Iterator[Shape]:
    """All chains and trees of up to MOST nodes."""
    for nodes in range(1, MOST + 1):
        yield Shape(nodes)
        for branch in range(1, nodes // 2 + 1):
            yield Shape(nodes - branch, branch)
            yield Shape(nodes - branch, branch, is_comb=True)


# ---------------------------------------------------------------------- the model
def answer(model: LoadedModel, runner: Runner, question: str, num_tokens: int) -> Trace:
    """Ask ``question`` and decode greedily."""
    ids = encode_chat(model.tokenizer, model.template, (Message("user", question),))
    known, start = list(ids), 0
    size = model.config.kv.block_size
    params = SamplingParams(temperature=0.0)
    while len(known) < len(ids) + num_tokens:
        blocks = tuple(range(-(-len(known) // size)))
        chunk = ScheduledChunk("a", tuple(known[start:]), start, blocks, 1, params, 0, 0, known)
        token = runner.run(StepPlan((chunk,)), _never).sampled["a"][0]
        start = len(known)
        if token in model.tokenizer.eos_ids:
            break
        known.append(token)
    return Trace(tuple(known), len(ids))


def _never() -> bool:
    return False


def _forward(
    decoder: NativeDecoder, storage: PagedStorage, ids: Sequence[int], start: int
) -> torch.Tensor:
    places = torch.arange(start, start + len(ids))
    size = storage.geometry.block_size
    blocks = tuple(range(-(-(start + len(ids)) // size)))
    batch = ForwardBatch(
        token_ids=torch.tensor(ids),
        positions=places,
        slots=places,
        segments=(Segment(0, len(ids), start, blocks),),
        logit_rows=torch.arange(len(ids)),
    )
    return decoder.forward(batch, storage, _never)


def _top_two(decoder: NativeDecoder, model: LoadedModel, trace: Trace) -> torch.Tensor:
    """int64 [tokens, 2]: what is likeliest after each."""
    parts = [
        _forward(decoder, model.storage, trace.ids[at : at + 64], at).topk(2).indices
        for at in range(0, len(trace.ids), 64)
    ]
    return torch.cat(parts)


def thinned(decoder: NativeDecoder, part: float) -> NativeDecoder:
    """The same with ``part`` of its layers: the first and last ones, and some between."""
    layers = decoder._layers
    inner = layers[2:-2]
    kept = round(part * len(inner))
    chosen = [
        layer
        for i, layer in enumerate(inner)
        if (i + 1) * kept // len(inner) > i * kept // len(inner)
    ]
    ends = (*layers[:2], *chosen, *layers[-2:])
    made = NativeDecoder(decoder.config, decoder._embedding, ends, decoder._norm, decoder._head)
    made.set_context(2_048)
    return made


def costs(decoder: NativeDecoder, storage: PagedStorage, context: int) -> list[float]:
    """What 1 to MOST + 1 rows take, in steps of one row: the best of rounds in turn."""
    _forward(decoder, storage, [1] * context, 0)
    times: list[list[float]] = [[] for _ in range(MOST + 1)]
    for _ in range(ROUNDS):
        for rows in range(1, MOST + 2):
            start = time.perf_counter()
            _forward(decoder, storage, [1] * rows, context)
            times[rows - 1].append(time.perf_counter() - start)
    return [min(row) / min(times[0]) for row in times]


# ---------------------------------------------------------------------- report
def speed(
    traces: Sequence[Trace], draft: Drafter, shape: Shape, cost: Sequence[float]
) -> tuple[float, float]:
    """Speed over that without guesses, and tokens a step."""
    steps = [step for trace in traces for step in walk(trace, draft, shape)]
    tokens = sum(given for _, given in steps)
    return tokens / sum(cost[rows - 1] for rows, _ in steps), tokens / len(steps)


def compare(name: str, traces: Sequence[Trace], draft: Drafter, cost: Sequence[float]) -> None:
    """Print the best chain and the best tree, and both with eight nodes."""
    found = {shape: speed(traces, draft, shape, cost) for shape in shapes()}
    for nodes in (4, 8, None):
        some = [s for s in found if nodes is None or s.main + s.branch == nodes]
        line = f"{name:<24}{'best' if nodes is None else nodes:>5} nodes"
        for is_tree in (False, True):
            best = max((s for s in some if bool(s.branch) is is_tree), key=lambda s: found[s][0])
            gain, tokens = found[best]
            line += f"   {best!s:<22}{tokens:5.2f} a step {gain:5.3f} x"
        sys.stdout.write(line + "\n")


@torch.inference_mode()
def main() -> int:
    """Answer, walk, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--costs", type=float, nargs=MOST + 1)
    options = parser.parse_args()
    model = load_model(ModelOptions(str(options.model)), lambda _progress: None, _never)
    decoder = model.decoder
    assert isinstance(decoder, NativeDecoder)
    runner = Runner(decoder, model.storage, Sampler())
    traces = {
        kind: [answer(model, runner, question, options.tokens) for question in questions]
        for kind, questions in TEXTS.items()
    }
    cost = options.costs or costs(decoder, model.storage, 300)
    sys.stdout.write("rows cost " + " ".join(f"{c:.2f}" for c in cost) + "\n")
    for part in (0.0, *PARTS):
        for kind, some in traces.items():
            if part:
                draft: Drafter = Sibling(thinned(decoder, part), model, some)
            else:
                draft = ngrams
            label = f"{kind}, {part:.0%} of layers" if part else f"{kind}, n-grams"
            compare(label, some, draft, cost)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
