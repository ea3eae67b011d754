"""How large the values of a template are, and a limit on them.

A value counts as a tree: characters of its strings and ITEM for every item, however often shared,
because that is what printing or comparing it costs. Knows plain Python values only.
"""

from collections.abc import Iterable
from typing import Any, Final

from jinja2.runtime import Undefined

from engine.text.deadline import RenderStopped

MAX_VALUE: Final = 8_000_000
MAX_TOTAL: Final = 64_000_000
MAX_DEPTH: Final = 64
ITEM: Final = 32  # an item costs as much as so many characters

# Concrete types: abstract ones would run Python code for each item.
_SEQUENCES: Final[tuple[type[Iterable[Any]], ...]] = (
    list,
    tuple,
    set,
    frozenset,
    type({}.keys()),
    type({}.values()),
    type({}.items()),
)


def tree_size(value: Any) -> tuple[int, int]:
    """Size and depth of ``value``. Raises RenderStopped past MAX_VALUE or MAX_DEPTH."""
    size = deepest = 0
    level: list[Any] = [value]
    while level:
        if deepest > MAX_DEPTH:
            raise RenderStopped("it nests values too deeply")
        size += ITEM * len(level)
        inner: list[Any] = []
        for item in level:
            if isinstance(item, str | bytes):
                size += len(item)
            elif isinstance(item, dict):
                inner += (*item.keys(), *item.values())
            elif isinstance(item, _SEQUENCES):
                inner += item
            if size + ITEM * len(inner) > MAX_VALUE:
                raise RenderStopped("it builds a text that is too large")
        level = inner
        deepest += 1
    return size, deepest


def check_size(size: int) -> None:
    """Raise RenderStopped when ``size`` is past MAX_VALUE."""
    if size > MAX_VALUE:
        raise RenderStopped("it builds a text that is too large")


class Meter:
    """Counts everything one rendering makes."""

    def __init__(self) -> None:
        self._total = 0

    def reset(self) -> None:
        """Begin a rendering."""
        self._total = 0

    def take(self, value: Any) -> Any:
        """Measure a new value and hand it on."""
        if type(value) is str:  # ``add``, without the calls that a deadline watches
            self._total += len(value)
            if len(value) <= MAX_VALUE and self._total <= MAX_TOTAL:
                return value
        if value is None or isinstance(value, (bool, float, Undefined)):
            return value
        self.add(len(value) if isinstance(value, str) else tree_size(value)[0])
        return value

    def add(self, size: int) -> None:
        """Count ``size`` characters or items."""
        check_size(size)
        self._total += size
        if self._total > MAX_TOTAL:
            raise RenderStopped("it builds too much text")
