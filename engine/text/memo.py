"""Ids of stretches of text that were encoded before.

A chat's prompt is that of the turn before with a little more at its end. Control tokens cut it into
stretches that are encoded one by one, whatever a tokenizer does to a text, so what a stretch became
once it becomes again. Knows texts and ids, no tokenizer; any thread may use it.
"""

import sys
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Final

# About 350,000 tokens of English: several long chats. Other texts are simply encoded again.
MAX_BYTES: Final = 4 << 20
_ENTRY_BYTES: Final = 320  # of an entry beside its text and its ids

_Key = tuple[str, bool]
_Entry = tuple["array[int]", int]  # ids, and what they and their key took when they came


class StretchMemo:
    """The stretches asked for last, up to ``max_bytes`` (text, ids and their keeping).

    With ``max_bytes`` 0 nothing is kept.
    """

    def __init__(self, max_bytes: int = MAX_BYTES) -> None:
        self._max_bytes: Final = max_bytes
        self._kept: OrderedDict[_Key, _Entry] = OrderedDict()
        self._num_bytes = 0
        self._lock: Final = Lock()

    @property
    def num_bytes(self) -> int:
        """Bytes of what is kept."""
        return self._num_bytes

    def __len__(self) -> int:
        return len(self._kept)

    def ids(
        self, text: str, encode: Callable[[str], Sequence[int]], *, is_first: bool
    ) -> Sequence[int]:
        """``encode(text)``, which the result must depend on alone, with ``is_first``.

        ``is_first``: the stretch begins the whole text, which some tokenizers encode otherwise.
        """
        key = (text, is_first)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known[0]
        found = encode(text)
        self._keep(key, array("i", found))
        return found

    def _keep(self, key: _Key, ids: "array[int]") -> None:
        # once: a text grows when somebody has it in UTF-8, which Python keeps beside it
        size = _size(key, ids)
        if size > self._max_bytes:
            return
        with self._lock:
            if key in self._kept:  # another thread was quicker
                return
            self._kept[key] = ids, size
            self._num_bytes += size
            while self._num_bytes > self._max_bytes:
                _key, (_ids, freed) = self._kept.popitem(last=False)
                self._num_bytes -= freed


def _size(key: _Key, ids: "array[int]") -> int:
    return sys.getsizeof(key[0]) + ids.itemsize * len(ids) + _ENTRY_BYTES
