"""Reasoning apart from the answer: which tags a model's template declares, and routing by them.

No tag is known here by name. A template is asked: given an assistant's message with a reasoning, it
writes that reasoning between two tags; or it cuts the content of earlier messages at a closing tag,
so that old reasoning does not fill the context. Knows templates, tokens and text.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.errors import TemplateError
from engine.text.template import ChatTemplate
from engine.text.tokenizer import Tokenizer

# the names under which templates look for a message's reasoning
_KEYS = ("reasoning_content", "reasoning", "thinking", "thought")
_REASONING, _CONTENT, _QUESTION = "qREASONINGq", "qCONTENTq", "qQUESTIONq"
_CUT = re.compile(r"""split\(\s*['"]([^'"\s]{2,40})['"]\s*\)|['"]([^'"\s]{2,40})['"]\s+in\s""")
_TAG_AT_END = re.compile(r"(<[^<>\s]{1,40}>|\[[A-Za-z_]{1,40}\])\s*$")
_LONGEST_TAG = 120


@dataclass(frozen=True, slots=True)
class ReasoningTags:
    """What stands before and after a reasoning.

    ``is_open``: the prompt itself ends with the opening one, so that an answer begins inside.
    """

    opening: str
    closing: str
    is_open: bool = False


class AnswerText(Protocol):
    """The text of one answer, a token at a time; ``text.detokenizer.Detokenizer`` is one."""

    @property
    def stopped(self) -> bool:
        """Whether a stop string has been found."""
        ...

    def push(self, token_id: int) -> str:
        """Take the next token and return the text that is now certain."""
        ...

    def flush(self) -> str:
        """Return what was held back; the answer ends here."""
        ...


def tag_ids(tags: ReasoningTags | None, tokenizer: Tokenizer) -> frozenset[int]:
    """The control tokens that the tags are made of, for ``Detokenizer``'s ``shown``."""
    if tags is None:
        return frozenset()
    ids = tokenizer.encode(tags.opening + tags.closing, parse_special=True)
    return frozenset(token_id for token_id in ids if tokenizer.is_special(token_id))


def find_tags(template: ChatTemplate) -> ReasoningTags | None:
    """The tags that ``template`` declares; None where it tells nothing of reasoning."""
    try:
        asked = template.render_values([_message("user", _QUESTION)]).text
    except TemplateError:
        return None
    tags = _written_tags(template, asked) or _cut_tags(template)
    if tags is None:
        return None
    is_open = asked.rstrip().endswith(tags.opening)
    return ReasoningTags(tags.opening, tags.closing, is_open=is_open)


class ReasoningRouter:
    """Divides one answer's text at the tags, wherever tokens and tags begin and end."""

    def __init__(
        self, text: AnswerText, tags: ReasoningTags | None, *, is_continued: bool
    ) -> None:
        """``is_continued``: the answer goes on from words it has; it is past its reasoning."""
        self._text = text
        self._tags = tags
        self._is_inside = tags is not None and tags.is_open and not is_continued
        self._held = ""
        self._reasoning = ""
        self._is_after_tag = self._is_inside

    @property
    def stopped(self) -> bool:
        """Whether a stop string has been found; its text was never given out."""
        return self._text.stopped

    def push(self, token_id: int) -> str:
        """Take the next token; return new text of the answer.

        Text that may be the beginning of a tag is held back.
        """
        answer = self._route(self._text.push(token_id))
        # before a stop string, too, the beginning of a tag was only text
        return answer + self._give_rest() if self._text.stopped else answer

    def flush(self) -> str:
        """Return what was held back; the answer ends here."""
        return self._route(self._text.flush()) + self._give_rest()

    def take_reasoning(self) -> str:
        """Text of the reasoning that no call has returned yet."""
        text, self._reasoning = self._reasoning, ""
        return text

    def _route(self, text: str) -> str:
        if self._tags is None:
            return text
        self._held += text
        answer = ""
        while True:
            tag = self._tags.closing if self._is_inside else self._tags.opening
            before, found, after = self._held.partition(tag)
            if not found:
                break
            answer += self._give(before.rstrip() if self._is_inside else before)
            self._is_inside = not self._is_inside
            self._is_after_tag = True
            self._held = after
        certain = len(self._held) - _possible_tag(self._held, tag)
        answer += self._give(self._held[:certain])
        self._held = self._held[certain:]
        return answer

    def _give_rest(self) -> str:
        rest, self._held = self._held, ""
        return self._give(rest)

    def _give(self, text: str) -> str:
        """``text`` where it is the answer's; white space after a tag is the template's."""
        if self._is_after_tag:
            text = text.lstrip()
            self._is_after_tag = not text
        if not self._is_inside:
            return text
        self._reasoning += text
        return ""


def _written_tags(template: ChatTemplate, asked: str) -> ReasoningTags | None:
    """The tags around a reasoning that the template was given."""
    for key in _KEYS:
        message = _message("assistant", _CONTENT) | {key: _REASONING}
        text = _rendered(template, [_message("user", _QUESTION), message])
        before, found, after = text.partition(_REASONING)
        closing, is_followed, _ = after.partition(_CONTENT)
        if not found or not is_followed:
            continue
        opening = before[_num_common(before, asked) :].strip()
        if not opening and (tag := _TAG_AT_END.search(before)):
            opening = tag[1]
        closing = closing.strip()
        if 1 < len(opening) <= _LONGEST_TAG and 1 < len(closing) <= _LONGEST_TAG:
            return ReasoningTags(opening, closing)
    return None


def _cut_tags(template: ChatTemplate) -> ReasoningTags | None:
    """The tags at which the template cuts reasoning out of earlier answers."""
    for match in _CUT.finditer(template.source):
        closing = match[1] or match[2]
        opening = closing.replace("/", "", 1)
        if "/" not in closing:
            continue
        words = f"{opening}{_REASONING}{closing}{_CONTENT}"
        text = _rendered(
            template,
            [
                _message("user", _QUESTION),
                _message("assistant", words),
                _message("user", _QUESTION),
            ],
        )
        if _CONTENT in text and _REASONING not in text:
            return ReasoningTags(opening, closing)
    return None


def _num_common(one: str, other: str) -> int:
    """Characters that both texts begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(one), len(other)))


def _rendered(template: ChatTemplate, messages: Sequence[dict[str, str]]) -> str:
    try:
        return template.render_values(messages, add_generation_prompt=False).text
    except TemplateError:
        return ""


def _message(role: str, content: str) -> dict[str, str]:
    return {"role": role, "content": content}


def _possible_tag(text: str, tag: str) -> int:
    """Length of the longest end of ``text`` that is a proper beginning of ``tag``."""
    longest = min(len(text), len(tag) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(tag[:n])), 0)
