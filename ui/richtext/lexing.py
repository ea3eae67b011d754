"""The only place that knows Pygments: source code to named pieces, lazily."""

import re
from collections.abc import Iterator
from typing import Any

from pygments.lexers import (  # type: ignore[import-untyped]  # the package ships no types
    find_lexer_class_by_name,
)

_PAUSE = (0, "", "")


def lex(text: str, language: str) -> Iterator[tuple[int, str, str]]:
    """Position, kind ("Keyword.Constant") and text of each piece; none for unknown languages.

    Finding a lexer for the first time imports its module, and making it compiles some hundred
    patterns: an empty piece after each step lets the caller pause there.
    """
    if not language:
        return
    try:
        lexer_class = find_lexer_class_by_name(language.lower())
    except ValueError:
        return
    yield _PAUSE
    for _ in _compile_patterns(lexer_class):
        yield _PAUSE
    lexer = lexer_class()
    yield _PAUSE
    for position, kind, piece in lexer.get_tokens_unprocessed(text):
        yield position, ".".join(kind), piece


def _compile_patterns(lexer_class: Any) -> Iterator[None]:
    """Compile a lexer's patterns one at a time into ``re``'s cache, where making it finds them."""
    if "_tokens" in vars(lexer_class):
        return  # one was made before, and left them there
    states = lexer_class.get_tokendefs() if hasattr(lexer_class, "get_tokendefs") else {}
    for rules in states.values():
        for rule in rules:
            if type(rule) is not tuple:
                continue  # an include or a default: no pattern of its own
            pattern = rule[0] if isinstance(rule[0], str) else rule[0].get()
            re.compile(pattern, lexer_class.flags)
            yield
