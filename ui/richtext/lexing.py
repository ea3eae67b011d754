"""The only place that knows Pygments: source code to named pieces, lazily."""

from collections.abc import Iterator

from pygments.lexers import (  # type: ignore[import-untyped]  # the package ships no types
    find_lexer_class_by_name,
)


def lex(text: str, language: str) -> Iterator[tuple[int, str, str]]:
    """Position, kind ("Keyword.Constant") and text of each piece; none for unknown languages.

    Finding a lexer for the first time imports its module, and making it compiles its patterns:
    an empty piece after each of the two lets the caller pause there.
    """
    if not language:
        return
    try:
        lexer_class = find_lexer_class_by_name(language.lower())
    except ValueError:
        return
    yield 0, "", ""
    lexer = lexer_class()
    yield 0, "", ""
    for position, kind, piece in lexer.get_tokens_unprocessed(text):
        yield position, ".".join(kind), piece
