"""Where each token of a prompt comes from, and which tokens an answer is made of.

A template is asked twice: with the messages, and with marks in place of their contents. What
stands around the marks is the template's own text; what stands between in the real prompt is the
messages', trimmed or otherwise changed as it may be. Knows templates and tokens, no model.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, pairwise, takewhile
from typing import Final

from engine.api import Message, TokenOrigin
from engine.errors import TemplateError
from engine.text.reasoning import ReasoningTags
from engine.text.template import Renderer, chat_text, continues_answer
from engine.text.tokenizer import Tokenizer

_MARK: Final = "qMARK{}q"
_MARKS: Final = re.compile(r"qMARK(\d+)q")
_ORIGINS: Final = {"system": TokenOrigin.SYSTEM, "assistant": TokenOrigin.ASSISTANT}


@dataclass(frozen=True, slots=True)
class MarkedToken:
    """A token of a prompt: the bytes [start, end) of the prompt's text, and whose they are."""

    token_id: int
    start: int
    end: int
    origin: TokenOrigin


@dataclass(frozen=True, slots=True)
class _Range:
    """Characters (or bytes) [start, end) of a prompt that a message put there."""

    start: int
    end: int
    origin: TokenOrigin


def mark_prompt(
    tokenizer: Tokenizer, template: Renderer, messages: Sequence[Message]
) -> list[MarkedToken]:
    """The tokens of ``encode_chat``, each with its origin. Raises what that raises."""
    guarded, guard = chat_text(tokenizer, template, messages)
    text = guarded.replace(guard, "")
    ranges = _in_bytes(_ranges(template, messages, text), text)
    spans = tokenizer.spans(guarded, parse_special=True, guard=guard)
    ends = [found.end for found in ranges]
    marked: list[MarkedToken] = []
    for span in spans:
        origin = TokenOrigin.TEMPLATE
        if not tokenizer.is_special(span.token_id):
            near = islice(ranges, bisect_right(ends, span.start), None)
            origin = _origin(near, span.start, span.end)
        marked.append(MarkedToken(*span, origin))
    ids = [span.token_id for span in spans]
    if tokenizer.with_bos(ids) != ids:
        assert tokenizer.bos_id is not None
        marked.insert(0, MarkedToken(tokenizer.bos_id, 0, 0, TokenOrigin.TEMPLATE))
    return marked


def answer_ids(
    tokenizer: Tokenizer, answer: str, produced: Sequence[int] | None
) -> tuple[list[int], bool]:
    """An answer's ids, and whether some were found by tokenising its text again.

    ``produced``: what the model said. It may be more than the text (a reasoning, a stop string, an
    end mark), or only a part of it, where the answer went on from words it had.
    """
    is_known = produced is not None and all(0 <= i < tokenizer.vocab_size for i in produced)
    if produced and is_known:
        shown = [token_id for token_id in produced if not tokenizer.is_special(token_id)]
        said = b"".join(map(tokenizer.token_bytes, shown)).decode("utf-8", "ignore")
        if answer.strip() in said:
            return list(produced), False
        before, found, after = answer.rpartition(said)  # what went on is the end
        if said and found:
            head, tail = (tokenizer.encode(part, parse_special=False) for part in (before, after))
            return [*head, *produced, *tail], True
    return tokenizer.encode(answer, parse_special=False), True


def reasoning_ids(tokenizer: Tokenizer, reasoning: str, tags: ReasoningTags | None) -> list[int]:
    """A reasoning's ids, its tags around it, as most models write them."""
    if tags is None or not reasoning:
        return []
    opening = "" if tags.is_open else tags.opening
    return [
        *tokenizer.encode(opening, parse_special=True),
        *tokenizer.encode(f"\n{reasoning}\n", parse_special=False),
        *tokenizer.encode(tags.closing, parse_special=True),
        *tokenizer.encode("\n\n", parse_special=False),
    ]


# ---------------------------------------------------------------- where the messages lie


def _ranges(template: Renderer, messages: Sequence[Message], text: str) -> list[_Range]:
    """What of the prompt's ``text`` the messages put there, in characters."""
    is_begun = continues_answer(messages)
    begun = messages[-1].content if is_begun else ""
    rendered = messages[:-1] if is_begun else messages
    body = text.removesuffix(begun)
    ranges = _around_marks(template, rendered, body)
    if ranges is None:
        ranges = list(_search(rendered, body))
    if is_begun:
        ranges.append(_Range(len(body), len(text), TokenOrigin.ASSISTANT))
    return ranges


def _around_marks(
    template: Renderer, messages: Sequence[Message], text: str
) -> list[_Range] | None:
    """The ranges by the template's own text between them; None where that is another here."""
    marked = [replace(m, content=_MARK.format(number)) for number, m in enumerate(messages)]
    try:
        skeleton = template.render(marked).text
    except TemplateError:
        return None
    parts = _MARKS.split(skeleton)  # fixed, number, fixed, number, ..., fixed
    if not text.startswith(parts[0]):
        return None
    ranges: list[_Range] = []
    at = len(parts[0])
    for place in range(1, len(parts), 2):
        message, fixed = messages[int(parts[place])], parts[place + 1]
        is_last = place + 2 == len(parts)
        end = _end_of(message.content, text, at, fixed, is_last=is_last)
        if end is None:
            return None
        ranges.append(_Range(at, end, _ORIGINS.get(message.role, TokenOrigin.USER)))
        at = end + len(fixed)
    return ranges if at == len(text) else None


def _end_of(content: str, text: str, at: int, fixed: str, *, is_last: bool) -> int | None:
    """Where what a message put at ``at`` ends, before the ``fixed`` text of the template."""
    for form in _forms(content):
        if text.startswith(form + fixed, at):
            return at + len(form)
    if is_last:
        end = len(text) - len(fixed)
        return end if end >= at and text.endswith(fixed) else None
    found = text.find(fixed, at) if fixed else -1
    return None if found < 0 else found


def _search(messages: Sequence[Message], text: str) -> Iterator[_Range]:
    """The ranges of contents that stand in the text once, one after the other."""
    at = 0
    for message in messages:
        for form in _forms(message.content):
            start = text.find(form, at) if form else -1
            if start >= 0 and text.find(form, start + 1) < 0:
                at = start + len(form)
                yield _Range(start, at, _ORIGINS.get(message.role, TokenOrigin.USER))
                break


def _forms(content: str) -> Sequence[str]:
    """A content as templates write it, the most of it first."""
    return tuple(dict.fromkeys((content, content.lstrip(), content.rstrip(), content.strip())))


def _in_bytes(ranges: Sequence[_Range], text: str) -> list[_Range]:
    """The same ranges, in order, counted in bytes of UTF-8."""
    edges = [0, *(edge for found in ranges for edge in (found.start, found.end))]
    pieces = (text[a:b].encode("utf-8", "surrogatepass") for a, b in pairwise(edges))
    places = list(accumulate(len(piece) for piece in pieces))
    return [
        _Range(start, end, found.origin)
        for found, start, end in zip(ranges, places[::2], places[1::2], strict=True)
    ]


def _origin(ranges: Iterable[_Range], start: int, end: int) -> TokenOrigin:
    """Whose most of the bytes [start, end) are; ``ranges`` in order."""
    shares = {TokenOrigin.TEMPLATE: end - start}
    for found in takewhile(lambda found: found.start < end, ranges):
        shared = max(0, min(end, found.end) - max(start, found.start))
        shares[found.origin] = shares.get(found.origin, 0) + shared
        shares[TokenOrigin.TEMPLATE] -= shared
    return max(reversed(shares), key=shares.__getitem__)
