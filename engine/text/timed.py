"""Text work with a clock beside it: how long the chat template and the detokenizer take.

Wraps the two, changes nothing of what they say, and knows no request: whoever wraps says where
the times go.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.api import Message
from engine.metrics import Clock
from engine.text.reasoning import ReasoningRouter
from engine.text.template import ChatTemplate, Prompt


class _Note(Protocol):
    def __call__(self, start_ns: int, end_ns: int, /) -> None: ...


class TimedTemplate:
    """A template that sums up, in ``spent_ns``, how long its renderings took."""

    def __init__(self, template: ChatTemplate, clock: Clock) -> None:
        self._template = template
        self._clock = clock
        self.spent_ns = 0

    def render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> Prompt:
        """As ``ChatTemplate.render``."""
        start = self._clock()
        try:
            return self._template.render(messages, add_generation_prompt=add_generation_prompt)
        finally:
            self.spent_ns += self._clock() - start


class TimedText:
    """An answer's text; ``note`` hears when each token became text, and when the rest did."""

    def __init__(self, text: ReasoningRouter, note: _Note, clock: Clock) -> None:
        self._text = text
        self._note = note
        self._clock = clock
        self.take_reasoning: Callable[[], str] = text.take_reasoning

    @property
    def stopped(self) -> bool:
        """Whether a stop string has been found."""
        return self._text.stopped

    def push(self, token_id: int) -> str:
        """Take the next token and return the text that is now certain."""
        start = self._clock()
        text = self._text.push(token_id)
        self._note(start, self._clock())
        return text

    def flush(self) -> str:
        """Return what was held back."""
        start = self._clock()
        text = self._text.flush()
        self._note(start, self._clock())
        return text
