"""Token ids to the text a person may see now.

Three things are held back: bytes of a character that is not complete, text that may turn out to
be the beginning of a stop string, and the one space SentencePiece writes before a text. Knows
tokens and stop strings only; one object serves one answer.
"""

import codecs
from collections.abc import Iterable

from engine.text.tokenizer import Tokenizer


class Detokenizer:
    """Incremental text of one answer.

    ``push`` returns what may be shown now, ``flush`` what was still held back at the end. Joined,
    they are the answer up to the first stop string, which is never part of it. Where several stop
    strings match, the one complete first counts, and of those the longest, so that the result does
    not depend on how the text falls into tokens. Bytes that can never become a character, and a
    character cut off by the end of the answer, are dropped: nobody can read U+FFFD.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        stop: Iterable[str] = (),
        *,
        keep_leading_space: bool = False,
        shown: frozenset[int] = frozenset(),
    ) -> None:
        """Begin an answer.

        ``keep_leading_space``: the answer continues a text, so its first space is meant.
        ``shown``: control tokens that are given out as text all the same.
        """
        self._tokenizer = tokenizer
        self._stop = tuple(text for text in stop if text)
        self._bytes = codecs.getincrementaldecoder("utf-8")("ignore")
        self._shown = shown
        self._strip_space = tokenizer.add_space_prefix and not keep_leading_space
        self._held = ""
        self._stopped = False

    @property
    def stopped(self) -> bool:
        """Whether a stop string was found; nothing is shown after it."""
        return self._stopped

    def push(self, token_id: int) -> str:
        """Take one token; return the text that may be shown now (often empty)."""
        if self._stopped:
            return ""
        if token_id not in self._shown and self._tokenizer.is_special(token_id):
            return ""
        data = self._tokenizer.token_bytes(token_id)
        if self._strip_space and data:
            self._strip_space = False
            data = data.removeprefix(b" ")
        self._held += self._bytes.decode(data)
        return self._release()

    def flush(self) -> str:
        """The answer is complete: return what was held back."""
        text, self._held = self._held, ""
        return text

    def _release(self) -> str:
        if not self._stop:
            return self.flush()
        end = self._stop_start()
        if end is not None:
            text, self._held = self._held[:end], ""
            self._stopped = True
            return text
        keep = max((_overlap(self._held, stop) for stop in self._stop), default=0)
        split = len(self._held) - keep
        text, self._held = self._held[:split], self._held[split:]
        return text

    def _stop_start(self) -> int | None:
        """Where the first complete stop string begins in the held text."""
        found = [(at + len(stop), at) for stop in self._stop if (at := self._held.find(stop)) >= 0]
        return min(found)[1] if found else None


def _overlap(text: str, stop: str) -> int:
    """Length of the longest end of ``text`` that is a proper beginning of ``stop``."""
    longest = min(len(text), len(stop) - 1)
    if stop[0] not in text[-longest:]:  # nearly always, and all the rest need not be tried
        return 0
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
