"""What a running stream feels while a long prompt is read: with chunks, and in one piece.

A stream decodes alone until its speed is known; then the long prompt joins. Its ITL is that of the
tokens chosen after the prompt was sent and before the prompt's own first token, the one that
waited for the last piece included.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from engine.api import GenerationRequest, ModelInfo, ModelOptions, SamplingParams
from engine.cli.session import Session, itl_ms
from engine.errors import InvalidRequestError

ALONE = 32  # tokens of the stream before the prompt is sent
_STREAM_PROMPT = 32
_MOST_BATCH_TOKENS = 1 << 16

Prompts = Callable[[ModelInfo, int], tuple[int, ...]]
Load = Callable[[ModelOptions], Session]


@dataclass(frozen=True, slots=True)
class Mixed:
    """A model, the length of the prompt that joins (tokens), and where token ids come from."""

    options: ModelOptions
    prompt_tokens: int
    prompts: Prompts
    is_stopped: Callable[[], bool]

    def measure(self, load: Load) -> dict[str, object]:
        """Measure both ways, one load each; chunks alone where their size was chosen.

        Raises EngineError and KeyboardInterrupt.
        """
        if not self.options.adaptive_chunks:
            chunks = self._measure_one(load(self.options))
            return {"prompt_tokens": self.prompt_tokens, "chunks": chunks}
        whole = min(self.prompt_tokens + 1, _MOST_BATCH_TOKENS)
        return {
            "prompt_tokens": self.prompt_tokens,
            "chunks": self._measure_one(load(self.options)),
            "one_piece": self._measure_one(
                load(replace(self.options, adaptive_chunks=False, max_batch_tokens=whole))
            ),
        }

    def _measure_one(self, session: Session) -> dict[str, object]:
        needed = self.prompt_tokens + 2
        if needed > session.info.context_length:
            raise InvalidRequestError(
                f"A prompt of {self.prompt_tokens} tokens does not fit the context of"
                f" {session.info.context_length}; use fewer --prompt-tokens.",
                reason="context",
            )
        params = SamplingParams(temperature=0.0, ignore_eos=True)

        def request(length: int) -> GenerationRequest:
            ids = self.prompts(session.info, length)
            sent = time.perf_counter_ns()
            return GenerationRequest(session.next_id(), sent, params, prompt_ids=ids)

        stream, guest = session.join(
            request(_STREAM_PROMPT), lambda: request(self.prompt_tokens), ALONE, self.is_stopped
        )
        if self.is_stopped():
            raise KeyboardInterrupt
        line = guest.timeline
        sent_ns = 0 if line is None else line.sent_ns
        before = [at for at in stream.times_ns if at < sent_ns]
        during = [at for at in stream.times_ns if at >= sent_ns]
        guesses: dict[str, object] = {}
        if session.info.draft and stream.timeline is not None:
            guesses = {
                "drafted_tokens": stream.timeline.num_drafted_tokens,
                "accepted_tokens": stream.timeline.num_accepted_tokens,
            }
        return guesses | {
            "kv": session.info.kv_dtype,
            "stream_alone_itl_ms": itl_ms([before]),
            "stream_beside_itl_ms": itl_ms([[before[-1], *during]]),
            "tokens_meanwhile": len(during),
            "prompt_ttft_ms": None if line is None else line.ttft_ns / 1e6,
        }
