"""One answer under way: known tokens, how many of them are computed, and how it may end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.api import (
    CacheMiss,
    FinishReason,
    LeftOut,
    MissKind,
    SamplingParams,
    Timeline,
)
from engine.metrics import Marks
from engine.sampling.constraint import TokenConstraint


class TextStream(Protocol):
    """Turns tokens into text a piece at a time; ``text.detokenizer.Detokenizer`` is one."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string has been found; its text was never given out."""
        ...

    def push(self, token_id: int) -> str:
        """Take the next token and return the text that is now certain, maybe empty."""
        ...

    def flush(self) -> str:
        """Return what was held back; the answer ends here."""
        ...

    def take_reasoning(self) -> str:
        """Text of the reasoning before the answer that no call has returned yet."""
        ...


_ENOUGH_STEPS = 8  # of which a mean says something


@dataclass(slots=True, eq=False)
class Request:
    """A request as the scheduler sees it.

    ::

        known_ids  [prompt ................|output .....]
                   [computed .......)[ still to compute )

    Prefill is many tokens behind, decode is one behind; a prefix hit, a preemption and the
    missing cache only move the mark. ``arrival`` and ``num_passed_over`` (steps that served
    others only) are the scheduler's. ``num_drafted`` tokens were guessed, and ``num_accepted`` of
    them were right. Its ``num_plain_steps`` steps without guesses took ``plain_steps_ns``;
    ``expected_step_ns`` is what one is thought to cost. ``num_held``: latest tokens whose text is
    held back. ``keeps_cache`` False: each step computes everything anew,
    in blocks of the request's own. ``locate`` tells the message of a prompt token, which takes
    some renderings of the prompt, and so is asked when the first token is out. ``num_preemptions``: times it gave its blocks up to others.
    """

    request_id: str
    known_ids: list[int]
    params: SamplingParams
    seed: int
    text: TextStream
    marks: Marks
    num_prompt: int = 0
    num_computed: int = 0
    num_cached: int = 0
    was_admitted: bool = False
    conversation_id: str | None = None
    priority: int = 0
    arrival: int = 0
    num_passed_over: int = 0
    cache_miss: CacheMiss | None = None
    left_out: LeftOut | None = None
    constraint: TokenConstraint | None = None
    num_drafted: int = 0
    num_accepted: int = 0
    expected_step_ns: float | None = None
    num_plain_steps: int = 0
    plain_steps_ns: int = 0
    num_held: int = 0
    keeps_cache: bool = True
    guess_ahead: bool = True
    num_preemptions: int = 0
    locate: Callable[[int], tuple[str, int] | None] | None = None

    @classmethod
    def of_prompt(
        cls,
        request_id: str,
        prompt_ids: Sequence[int],
        *,
        params: SamplingParams,
        seed: int,
        text: TextStream,
        marks: Marks,
    ) -> "Request":
        """A request of which only the prompt is known."""
        return cls(
            request_id, list(prompt_ids), params, seed, text, marks, num_prompt=len(prompt_ids)
        )

    @property
    def num_known(self) -> int:
        """Prompt and output tokens."""
        return len(self.known_ids)

    @property
    def num_output(self) -> int:
        """Tokens produced so far, an end-of-text token included."""
        return len(self.known_ids) - self.num_prompt

    @property
    def num_behind(self) -> int:
        """Known tokens that are not computed."""
        return len(self.known_ids) - self.num_computed

    def timeline(self) -> Timeline | None:
        """When the request reached each stage; None before its first token."""
        timeline = self.marks.timeline(
            prompt=self.num_prompt, cached=self.num_cached, output=self.num_output
        )
        if timeline is None:
            return None
        return replace(
            timeline,
            cache_miss=self._placed_miss(),
            left_out=self.left_out,
            num_drafted_tokens=self.num_drafted,
            num_accepted_tokens=self.num_accepted,
            plain_step_ns=self._plain_step_ns(),
            num_preemptions=self.num_preemptions,
        )

    def _placed_miss(self) -> CacheMiss | None:
        """The miss, with the message that it begins in once that can be asked for."""
        miss, locate = self.cache_miss, self.locate
        if miss is None or locate is None or self.num_output < 2:
            return miss
        self.locate = None
        place = locate(miss.position) if miss.kind is MissKind.TEXT_CHANGED else None
        if place is not None:
            self.cache_miss = replace(miss, role=place[0], number=place[1])
        return self.cache_miss

    def note_step(self, sampled_ns: int, num_drafted: int, expected_ns: float | None) -> None:
        """Note a step that gives tokens at ``sampled_ns``, before these are known.

        ``expected_ns``: what one without guesses is thought to cost.
        """
        self.num_drafted += num_drafted
        self.expected_step_ns = expected_ns
        if not num_drafted and self.marks.last_token_ns is not None:
            self.num_plain_steps += 1
            self.plain_steps_ns += sampled_ns - self.marks.last_token_ns

    def _plain_step_ns(self) -> int | None:
        """The mean of this answer's own steps without guesses; what is expected for too few."""
        if self.num_plain_steps >= _ENOUGH_STEPS:
            return self.plain_steps_ns // self.num_plain_steps
        return None if self.expected_step_ns is None else round(self.expected_step_ns)

    def most_guesses(self, limit: int) -> int:
        """Guesses that could still become part of the answer beside the model's own token."""
        room = limit - self.num_known
        if self.params.max_tokens is not None:
            room = min(room, self.params.max_tokens - self.num_output)
        if self.constraint is not None or not self.guess_ahead:
            return 0
        return max(0, room - 1)

    def finish_reason(self, *, eos_ids: frozenset[int], limit: int) -> FinishReason | None:
        """Why the answer ends after its latest token; None while it goes on.

        ``limit`` is the number of tokens, prompt included, that can ever be known.
        """
        if self.known_ids[-1] in eos_ids and not self.params.ignore_eos:
            return FinishReason.END_OF_TEXT
        if self.text.stopped:
            # where nobody asked for stop strings, the template's own were met: the turn is over
            return FinishReason.STOP_STRING if self.params.stop else FinishReason.END_OF_TEXT
        if self.params.max_tokens is not None and self.num_output >= self.params.max_tokens:
            return FinishReason.MAX_TOKENS
        if self.num_known >= limit:
            return FinishReason.CONTEXT_FULL
        return None
