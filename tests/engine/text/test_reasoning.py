"""Tags come from the template alone; routing holds at any division into tokens."""

import itertools
import random

import pytest

from engine.api import Message
from engine.text.detokenizer import Detokenizer
from engine.text.reasoning import ReasoningRouter, ReasoningTags, find_tags, tag_ids
from engine.text.template import ChatTemplate
from tests.helpers.tiny_tokenizers import byte_level_tokenizer

PLAIN = (
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
# keeps the reasoning of the last answer, and writes an empty one where there is none
NAMED = (
    "{% for m in messages %}<|{{ m.role }}|>"
    "{% if m.role == 'assistant' and loop.last %}"
    "<muse>\n{{ m.reasoning_content | default('') }}\n</muse>\n\n{% endif %}"
    "{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
OPENED = NAMED.replace("%}<|assistant|>{% endif", "%}<|assistant|><muse>\n{% endif")
# channels, with the end of a message between reasoning and answer
CHANNELS = (
    "{% for m in messages %}{% if m.thinking %}"
    "<|start|>{{ m.role }}<|channel|>analysis<|message|>{{ m.thinking }}<|end|>{% endif %}"
    "<|start|>{{ m.role }}{% if m.role == 'assistant' %}<|channel|>final{% endif %}<|message|>"
    "{{ m.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant{% endif %}"
)
CUTTING = (
    "{% for m in messages %}{% set c = m.content %}"
    "{% if m.role == 'assistant' and '[/PONDER]' in c %}"
    "{% set c = c.split('[/PONDER]')[-1] %}{% endif %}"
    "<|{{ m.role }}|>{{ c }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
TAGS = ReasoningTags("<muse>", "</muse>")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (PLAIN, None),
        (NAMED, TAGS),
        (OPENED, ReasoningTags("<muse>", "</muse>", is_open=True)),
        (
            CHANNELS,
            ReasoningTags(
                "<|channel|>analysis<|message|>",
                "<|end|><|start|>assistant<|channel|>final<|message|>",
            ),
        ),
        (CUTTING, ReasoningTags("[PONDER]", "[/PONDER]")),
        ("{{ raise_exception('no') }}", None),
    ],
    ids=["plain", "named", "opened", "channels", "cutting", "refusing"],
)
def test_the_template_tells_its_tags(source, expected):
    assert find_tags(ChatTemplate(source)) == expected


def test_the_plain_stand_in_declares_nothing():
    assert find_tags(ChatTemplate.plain()) is None


class Pieces:
    """A text in pieces: token i is piece i."""

    stopped = False

    def __init__(self, pieces):
        self.pieces = pieces

    def push(self, token_id):
        return self.pieces[token_id]

    def flush(self):
        return ""


def _route(pieces, tags=TAGS, *, is_continued=False):
    router = ReasoningRouter(Pieces(pieces), tags, is_continued=is_continued)
    answer = reasoning = ""
    for index in range(len(pieces)):
        answer += router.push(index)
        reasoning += router.take_reasoning()
    return answer + router.flush(), reasoning + router.take_reasoning()


def _cut(text, draw):
    places = sorted({0, len(text), *(draw.randrange(len(text) + 1) for _ in range(12))})
    return [text[a:b] for a, b in itertools.pairwise(places)]


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<muse>\nWhy? 1 < 2.</muse>\n\nBecause.", ("Because.", "Why? 1 < 2.")),
        ("Just <b>this</b> </mu", ("Just <b>this</b> </mu", "")),
        ("<muse>cut o", ("", "cut o")),
        ("<muse></muse>Yes", ("Yes", "")),
        ("A <muse>b</muse> c<muse>d</muse>", ("A c", "bd")),
        ("  plain", ("  plain", "")),
    ],
)
def test_routing_does_not_depend_on_where_tokens_end(text, expected, seed):
    assert _route(_cut(text, random.Random(seed))) == expected


def test_an_answer_may_begin_inside_and_a_continued_one_does_not():
    tags = ReasoningTags("<muse>", "</muse>", is_open=True)
    assert _route(["Hm", "</muse>", "\nYes"], tags) == ("Yes", "Hm")
    assert _route(["Yes, and"], tags, is_continued=True) == ("Yes, and", "")


def test_without_tags_everything_is_answer():
    assert _route(["<muse>", "x"], None) == ("<muse>x", "")


def test_tags_that_are_control_tokens_are_seen_and_others_are_not():
    tokenizer = byte_level_tokenizer()
    special = sorted(tokenizer.special_strings)
    tags = ReasoningTags(special[0], special[1])
    shown = tag_ids(tags, tokenizer)
    assert shown
    text = Detokenizer(tokenizer, shown=shown)
    router = ReasoningRouter(text, tags, is_continued=False)
    ids = tokenizer.encode(f"{special[0]}ab{special[1]}cd", parse_special=True)
    assert "".join([*map(router.push, ids), router.flush()]) == "cd"
    assert router.take_reasoning() == "ab"
    assert tag_ids(None, tokenizer) == frozenset()


def test_messages_with_more_than_role_and_content_render_as_before():
    template = ChatTemplate(PLAIN)
    plain = template.render([Message("user", "hi")])
    assert template.render_values([{"role": "user", "content": "hi"}]) == plain


def test_what_stands_before_a_stop_string_is_not_taken_for_a_tag():
    tokenizer = byte_level_tokenizer()

    def answer(text):
        router = ReasoningRouter(Detokenizer(tokenizer, ["END"]), TAGS, is_continued=False)
        shown = ""
        for token in tokenizer.encode(text, parse_special=False):
            if not router.stopped:
                shown += router.push(token)
        assert router.stopped
        return shown, router.take_reasoning()

    assert answer("a <mENDb") == ("a <m", "")
    assert answer("<muse>so 1 </END") == ("", "so 1 </")
    assert answer("<muse>so</muse>yes <END") == ("yes <", "so")
