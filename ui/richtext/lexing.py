"""The only place that knows Pygments: source code to named pieces, lazily."""

from collections.abc import Iterator

from pygments.lexers import (  # type: ignore[import-untyped]  # the package ships no types
    find_lexer_class_by_name,
)


def lex(text: str, language: str) -> Iterator[tuple[int, str, str]] | None:
    """Position, kind ("Keyword.Constant") and text of each piece; None: unknown language.

    Nothing is lexed before the iterator is advanced.
    """
    if not language:
        return None
    try:
        lexer = find_lexer_class_by_name(language.lower())()
    except ValueError:
        return None
    return (
        (position, ".".join(kind), piece)
        for position, kind, piece in lexer.get_tokens_unprocessed(text)
    )
