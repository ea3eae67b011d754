"""When one request reached each stage, and the metrics that follow from it."""

from dataclasses import dataclass

from engine.api.reuse import CacheMiss, LeftOut


@dataclass(frozen=True, slots=True)
class Timeline:
    """When one request reached each stage (``*_ns``), and what it counted.

    TTFT's parts add up to it:
      queue      sent -> tokenize_start less load_wait, and tokenize_end -> prefill_start
      load       load_wait (the part of the wait spent on loading the model)
      tokenize   tokenize_start -> tokenize_end (chat template included)
      prefill    prefill_start -> prefill_end (logits of the last prompt token are ready)
      sample     prefill_end -> first_token (the first token is chosen)
      paint      first_token -> its first visible character on the screen, which may be one of the
                 line that shows a reasoning; added by the window

    ``cache_miss``: why no more than ``num_cached_tokens`` came from the cache; None: no more could.
    ``left_out``: what the prompt leaves out of the conversation. ``num_drafted_tokens`` were guessed
    ahead and verified, ``num_accepted_tokens`` of them are part of the answer; ``plain_step_ns`` is
    the mean of its steps without guesses (where too few were made, what one is thought to cost).

    Inside these parts: ``template_ns`` of tokenize went into the chat template. ``detokenize_ns``
    turned tokens into text, the last of it at ``text_end_ns`` (None: not measured). The model's
    forward pass, for this answer or for others in turn, took ``prefill_forward_ns`` of prefill and
    ``decode_forward_ns`` of decode (first token to last); ``decode_sample_ns`` of decode chose
    tokens. What is left is the host's: planning, bookkeeping, whoever held the engine up. The
    answer gave its cache up to others ``num_preemptions`` times.
    """

    sent_ns: int
    tokenize_start_ns: int
    tokenize_end_ns: int
    prefill_start_ns: int
    prefill_end_ns: int
    first_token_ns: int
    last_token_ns: int
    load_wait_ns: int
    num_prompt_tokens: int
    num_cached_tokens: int
    num_output_tokens: int
    first_paint_ns: int | None = None
    cache_miss: CacheMiss | None = None
    left_out: LeftOut | None = None
    num_drafted_tokens: int = 0
    num_accepted_tokens: int = 0
    plain_step_ns: int | None = None
    template_ns: int = 0
    detokenize_ns: int = 0
    text_end_ns: int | None = None
    prefill_forward_ns: int | None = None
    decode_forward_ns: int | None = None
    decode_sample_ns: int = 0
    num_preemptions: int = 0

    @property
    def queue_ns(self) -> int:
        """Time spent waiting for the engine, loading apart."""
        before = self.tokenize_start_ns - self.sent_ns - self.load_wait_ns
        return before + self.prefill_start_ns - self.tokenize_end_ns

    @property
    def tokenize_ns(self) -> int:
        """Chat template and tokenizer."""
        return self.tokenize_end_ns - self.tokenize_start_ns

    @property
    def prefill_ns(self) -> int:
        """All prefill chunks, first to last."""
        return self.prefill_end_ns - self.prefill_start_ns

    @property
    def sample_ns(self) -> int:
        """Choosing the first token."""
        return self.first_token_ns - self.prefill_end_ns

    @property
    def paint_ns(self) -> int | None:
        """From the first token to the first visible character; None before it is painted."""
        return None if self.first_paint_ns is None else self.first_paint_ns - self.first_token_ns

    @property
    def ttft_ns(self) -> int:
        """Send pressed to first visible character (to the first token while none is painted)."""
        end = self.first_token_ns if self.first_paint_ns is None else self.first_paint_ns
        return end - self.sent_ns

    @property
    def decode_tokens_per_s(self) -> float | None:
        """(n - 1) / (t_last - t_first); None below two tokens."""
        span = self.last_token_ns - self.first_token_ns
        if self.num_output_tokens < 2 or span <= 0:
            return None
        return (self.num_output_tokens - 1) * 1e9 / span

    @property
    def decode_ns(self) -> int:
        """From the first token to the last."""
        return self.last_token_ns - self.first_token_ns

    @property
    def decode_host_ns(self) -> int | None:
        """Decode outside the model's forward pass.

        None where it was not measured, or a draft model's own passes are in it.
        """
        if self.decode_forward_ns is None or self.num_drafted_tokens:
            return None
        return max(0, self.decode_ns - self.decode_forward_ns)

    @property
    def end_ns(self) -> int:
        """The answer is complete: the last token's text is known."""
        return max(self.last_token_ns, self.text_end_ns or 0)

    @property
    def tokens_per_step(self) -> float | None:
        """Decoded tokens over the steps they took; None below two tokens."""
        num_decoded = self.num_output_tokens - 1
        num_steps = num_decoded - self.num_accepted_tokens
        return num_decoded / num_steps if num_steps > 0 else None

    @property
    def guessing_gain(self) -> float | None:
        """Tokens a second over those of steps without guesses; None where either is unknown."""
        rate = self.decode_tokens_per_s
        if rate is None or self.plain_step_ns is None or not self.num_drafted_tokens:
            return None
        return rate * self.plain_step_ns / 1e9

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """Prompt tokens computed (cached ones apart) over prefill time."""
        computed = self.num_prompt_tokens - self.num_cached_tokens
        return computed * 1e9 / self.prefill_ns if self.prefill_ns > 0 else None
