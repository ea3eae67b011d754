"""Prompts to measure with: real sentences, in an order that no cache has seen.

A prompt begins with a number of its own, so that not even the first block of it is known.
"""

import random
import re
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from app.experiments.trials import Text

_SENTENCE = re.compile(r"[^.!?\n]+[.!?]+")
# words alone: a line of code has several times as many tokens a word
_PLAIN = re.compile(r"[A-Za-z ,;:'-]+[.!?]+")
_FIRST_GUESS = 1.4  # tokens of a word, until a prompt was counted
_LEAST_WORDS = 16
_FADING = 0.8  # of what was counted, with each further prompt
_REPEATED = 3  # sentences of a text that repeats itself
_NUMBER = 10**9
_FALLBACK = ("The tide comes in and goes out again twice a day, and nobody has to ask it to.",)


class Prompts:
    """Texts of about a wanted number of tokens; ``learn`` makes that exact to some percent."""

    def __init__(self, texts: Callable[[], Iterable[str]], rng: random.Random) -> None:
        """``texts`` is called once, for the first prompt."""
        self._texts = texts
        self._sentences: tuple[str, ...] = ()
        self._rng = rng
        self._per_word = _FIRST_GUESS
        self._num_words, self._num_tokens = 0.0, 0.0

    @classmethod
    def of(cls, folder: Path) -> "Prompts":
        """From the texts in a folder and below it."""
        return cls(partial(_texts_in, folder), random.Random())  # noqa: S311 - no secrets

    def text(self, num_tokens: int, kind: Text = Text.PROSE) -> str:
        """A text that no earlier one begins like."""
        count = max(1, round(num_tokens / self._per_word))
        sentences = self._sentences = self._sentences or _sentences_of(self._texts())
        if kind is Text.REPEATING:
            few = min(_REPEATED, len(sentences))
            sentences = tuple(self._rng.sample(sentences, few))
        words = [str(self._rng.randrange(_NUMBER // 10, _NUMBER))]
        while len(words) < count:
            words += self._rng.choice(sentences).split()
        return " ".join(words[:count])

    def learn(self, num_words: int, num_tokens: int) -> None:
        """So many words were so many tokens."""
        if num_words >= _LEAST_WORDS and num_tokens > 0:
            # sentences differ; another model's words do, too, so the past fades
            self._num_words = _FADING * self._num_words + num_words
            self._num_tokens = _FADING * self._num_tokens + num_tokens
            self._per_word = min(8.0, max(0.5, self._num_tokens / self._num_words))


def _texts_in(folder: Path) -> list[str]:
    return [path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.txt"))]


def _sentences_of(texts: Iterable[str]) -> tuple[str, ...]:
    found = (s.strip() for text in texts for s in _SENTENCE.findall(text))
    return tuple(s for s in found if _PLAIN.fullmatch(s) and len(s.split()) > 3) or _FALLBACK
