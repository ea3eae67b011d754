"""What one step computes, and what came out of it. Plain values; the runner gets nothing else."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engine.api import SamplingParams
from engine.kv.group import WindowTable
from engine.sampling.constraint import TokenConstraint


@dataclass(slots=True)
class ScheduledChunk:
    """A run of known tokens of one request, to be computed in this step.

    ::

        known tokens   [0 ........... start)[start ...... start+len(token_ids)) ...
                        computed: in blocks  this chunk

    ``block_ids`` covers every token up to the chunk's end, in order. The last ``num_logits`` rows
    of the chunk need logits (0 while the prompt is not complete; 1 to sample; more to verify
    drafts). The last ``num_drafts`` of ``token_ids`` are guesses that follow the known tokens, to
    be verified. ``known_ids`` is the request's live list of prompt and output tokens, for penalties:
    read it during the step, keep no reference. ``sample_index`` counts the request's output
    tokens, so that a seeded draw depends on the request alone and never on its batch. ``copy``
    (source, target): before anything is computed the target block is to become a copy of the
    source; the request goes on from the middle of it. Both are those of the first group of layers;
    ``windows``: of the others, if there are any.
    """

    request_id: str
    token_ids: tuple[int, ...]
    start: int
    block_ids: tuple[int, ...]
    num_logits: int
    params: SamplingParams
    seed: int
    sample_index: int
    known_ids: Sequence[int]
    constraint: TokenConstraint | None = None
    copy: tuple[int, int] | None = None
    num_drafts: int = 0
    windows: tuple[WindowTable, ...] = ()

    @property
    def num_known(self) -> int:
        """Tokens of the chunk that are no guesses."""
        return len(self.token_ids) - self.num_drafts


@dataclass(slots=True)
class StepPlan:
    """The chunks of one step, at most one a request."""

    chunks: tuple[ScheduledChunk, ...]

    @property
    def num_tokens(self) -> int:
        """Tokens computed in this step."""
        return sum(len(chunk.token_ids) for chunk in self.chunks)


@dataclass(slots=True)
class StepOutput:
    """Tokens chosen by one step, by request, and when (``time.perf_counter_ns``).

    A request whose chunk asked for no logits has no entry; one whose guesses were right has a token
    more for each of them. ``forward_end_ns``: logits ready; ``sampled_ns``: tokens chosen.
    ``forward_total_ns``: what all forward passes took since the model was loaded, this one
    included (0: not measured). ``start_ns``: when its run began (0: not known).
    """

    sampled: Mapping[str, tuple[int, ...]]
    forward_end_ns: int
    sampled_ns: int
    forward_total_ns: int = 0
    start_ns: int = 0
