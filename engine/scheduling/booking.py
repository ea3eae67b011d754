"""What a step's output means for one request, and the events its caller hears of it."""

from dataclasses import dataclass, field

from engine.api import Event, Finished, FinishReason, PrefillProgress, TokensProduced
from engine.scheduling.plan import StepOutput
from engine.scheduling.request import Request


def append_tokens(
    request: Request,
    tokens: tuple[int, ...],
    output: StepOutput,
    *,
    eos_ids: frozenset[int],
    limit: int,
) -> tuple[TokensProduced, FinishReason | None]:
    """Make ``tokens`` known, up to the one that ends the answer.

    All but the last were guessed and found right; ``limit`` as for ``Request.finish_reason``.
    """
    taken: list[int] = []
    answer = _Said()
    reason = None
    for token in tokens:
        request.known_ids.append(token)
        request.marks.note_token(output.forward_end_ns, output.sampled_ns, output.forward_total_ns)
        taken.append(token)
        is_end = token in eos_ids and not request.params.ignore_eos
        if not is_end:
            answer.hear(request, token, is_guessed=len(taken) < len(tokens))
        reason = request.finish_reason(eos_ids=eos_ids, limit=limit)
        if reason is not None:
            break
    num_accepted = min(len(taken), len(tokens) - 1)
    request.num_accepted += num_accepted
    if reason is not None and not request.text.stopped:
        answer.end(request)
    is_first = request.num_output == len(taken)
    produced = TokensProduced(
        request.request_id,
        answer.text,
        tuple(taken),
        (output.sampled_ns,) * len(taken),
        is_first=is_first,
        timeline=request.timeline() if is_first else None,
        num_accepted=num_accepted,
        reasoning=answer.reasoning,
        guessed=tuple(answer.guessed),
        num_reasoning=answer.num_reasoning,
        num_preemptions=request.num_preemptions,
    )
    return produced, reason


@dataclass(slots=True)
class _Said:
    """What the tokens of one step say, and which of it was guessed or thought."""

    text: str = ""
    reasoning: str = ""
    guessed: list[tuple[int, int]] = field(default_factory=list)
    num_reasoning: int = 0

    def hear(self, request: Request, token: int, *, is_guessed: bool) -> None:
        """Take the next token; what is held back counts with the text that it becomes."""
        start = len(self.text)
        self.text += request.text.push(token)
        thought = request.text.take_reasoning()
        self.reasoning += thought
        request.num_held += 1
        if thought:
            self.num_reasoning += request.num_held
        if thought or len(self.text) > start:
            request.num_held = 0
        if not is_guessed or len(self.text) == start:
            return
        if self.guessed and self.guessed[-1][1] == start:
            start = self.guessed.pop()[0]
        self.guessed.append((start, len(self.text)))

    def end(self, request: Request) -> None:
        """Take what was held back: no token follows."""
        self.text += request.text.flush()
        thought = request.text.take_reasoning()
        self.reasoning += thought
        if thought:
            self.num_reasoning += request.num_held


def progress(request: Request, start_ns: int, end_ns: int) -> PrefillProgress:
    """How far the prompt is after a step from ``start_ns`` to ``end_ns``."""
    return PrefillProgress(
        request.request_id,
        request.num_computed,
        request.num_cached,
        request.num_prompt,
        start_ns,
        end_ns,
    )


def held_back(request: Request) -> list[Event]:
    """The text that was kept back, where the answer ends early."""
    text = "" if request.text.stopped else request.text.flush()
    reasoning = request.text.take_reasoning()
    if not text and not reasoning:
        return []
    return [TokensProduced(request.request_id, text, (), (), reasoning=reasoning)]


def ending(request: Request, reason: FinishReason) -> list[Event]:
    """The last events of an answer that ends early."""
    return [*held_back(request), Finished(request.request_id, reason, request.timeline())]
