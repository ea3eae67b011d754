"""Origins of a prompt's tokens, whatever a template does with the messages."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api import Message, TokenOrigin
from engine.text.marking import answer_ids, mark_prompt, reasoning_ids
from engine.text.reasoning import ReasoningTags
from engine.text.template import ChatTemplate, encode_chat
from tests.helpers.tiny_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer

TOKENIZER = byte_level_tokenizer()
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TRIMMED = CHATML.replace("m['content']", "m['content'] | trim")
CUT = CHATML.replace("m['content']", "m['content'].split('|||')[-1]")
MERGED = (
    "{% if messages[0]['role'] == 'system' %}{% set first = messages[0]['content'] ~ '\n\n' %}"
    "{% set rest = messages[1:] %}{% else %}{% set first = '' %}{% set rest = messages %}{% endif %}"
    "{% for m in rest %}<|im_start|>{{ first if loop.first else '' }}{{ m['content'] }}<|im_end|>"
    "{% endfor %}"
)
LOUD = "{% for m in messages %}{{ m['content'] | upper }}{% endfor %}"
CHAT = (
    Message("system", "user"),
    Message("user", "  hello user\n"),
    Message("assistant", "aha ||| hell"),
    Message("user", "é🙂"),
)


def said(
    template: str, messages: tuple[Message, ...], tokenizer=TOKENIZER
) -> list[tuple[str, str]]:
    """Runs of one origin, with their text."""
    runs: list[tuple[TokenOrigin, bytes]] = []
    for mark in mark_prompt(tokenizer, ChatTemplate(template), messages):
        data = tokenizer.token_bytes(mark.token_id)
        if runs and runs[-1][0] is mark.origin:
            runs[-1] = (mark.origin, runs[-1][1] + data)
        else:
            runs.append((mark.origin, data))
    return [(origin.value, data.decode()) for origin, data in runs]


@pytest.mark.parametrize("template", [CHATML, TRIMMED, CUT, MERGED, LOUD])
def test_tokens_are_those_of_the_prompt(template: str) -> None:
    marked = mark_prompt(TOKENIZER, ChatTemplate(template), CHAT)
    ids = [mark.token_id for mark in marked]
    assert ids == encode_chat(TOKENIZER, ChatTemplate(template), CHAT)
    at = 0
    for mark in marked:
        assert (mark.start, mark.end) == (at, at + len(TOKENIZER.token_bytes(mark.token_id)))
        at = mark.end


def test_each_message_and_the_text_around() -> None:
    assert said(CHATML, CHAT) == [
        ("template", "<|im_start|>system\n"),
        ("system", "user"),
        ("template", "<|im_end|>\n<|im_start|>user\n"),
        ("user", "  hello user\n"),
        ("template", "<|im_end|>\n<|im_start|>assistant\n"),
        ("assistant", "aha ||| hell"),
        ("template", "<|im_end|>\n<|im_start|>user\n"),
        ("user", "é🙂"),
        ("template", "<|im_end|>\n<|im_start|>assistant\n"),
    ]


def test_what_a_template_trims_or_cuts_is_still_the_messages() -> None:
    assert ("user", "hello user") in said(TRIMMED, CHAT)
    assert ("assistant", " hell") in said(CUT, CHAT)


def test_a_system_prompt_inside_the_first_question() -> None:
    first, second, third, *_ = said(MERGED, CHAT)
    assert [first, second, third] == [
        ("template", "<|im_start|>"),
        ("system", "user"),
        ("template", "\n\n"),
    ]


def test_text_that_a_template_made_something_else_of_is_its_own() -> None:
    messages = (Message("user", "hi"), Message("assistant", "42"), Message("user", "hi"))
    assert said(LOUD, messages) == [("template", "HI"), ("assistant", "42"), ("template", "HI")]


def test_a_template_that_refuses_marks_is_searched() -> None:
    strict = CHATML.replace(
        "{% for m", "{% if 'MARK' in messages[0]['content'] %}{{ 1 // 0 }}{% endif %}{% for m", 1
    )
    runs = said(strict, CHAT)
    assert ("user", "é🙂") in runs
    assert ("user", "  hello user\n") in runs


def test_control_tokens_in_a_message_are_its_plain_text() -> None:
    (_, (origin, text), *_) = said(CHATML, (Message("user", "a<|im_end|>b"),))
    assert (origin, text) == ("user", "a<|im_end|>b")
    marked = mark_prompt(TOKENIZER, ChatTemplate(CHATML), (Message("user", "a<|im_end|>b"),))
    assert marked[-1].end == len(
        f"<|im_start|>user\na<|im_end|>b{'<|im_end|>'}\n<|im_start|>assistant\n"
    )


def test_words_that_go_on_are_an_answer() -> None:
    runs = said(CHATML, (Message("user", "a"), Message("assistant", "hello")))
    assert runs[-1] == ("assistant", "hello")
    assert said(CHATML, (Message("user", "a"), Message("assistant", "")))[-1][0] == "template"


def test_bos_of_the_model_stands_for_no_text() -> None:
    tokenizer = sentencepiece_tokenizer()
    template = ChatTemplate("{% for m in messages %}{{ m['content'] }}{% endfor %}")
    messages = (Message("user", "hello"),)
    marked = mark_prompt(tokenizer, template, messages)
    assert [mark.token_id for mark in marked] == encode_chat(tokenizer, template, messages)
    assert [(m.start, m.end, m.origin) for m in marked] == [
        (0, 0, TokenOrigin.TEMPLATE),
        (0, 5, TokenOrigin.USER),
    ]


TEXT = st.text(st.sampled_from("ab<|im_end|> \né🙂\ud800"), max_size=12)


@given(st.lists(TEXT, min_size=1, max_size=4), st.sampled_from([CHATML, TRIMMED, MERGED]))
def test_any_conversation_is_marked(texts: list[str], template: str) -> None:
    roles = ("user", "assistant", "system")
    messages = [Message(roles[n % 3], text) for n, text in enumerate(texts)]
    marked = mark_prompt(TOKENIZER, ChatTemplate(template), messages)
    ids = [mark.token_id for mark in marked]
    assert ids == encode_chat(TOKENIZER, ChatTemplate(template), messages)
    assert all(a.end <= b.start for a, b in pairwise(marked))


# ---------------------------------------------------------------- the answer


def encode(text: str) -> list[int]:
    return TOKENIZER.encode(text, parse_special=False)


def test_produced_ids_are_kept_whatever_is_said_beside_the_text() -> None:
    end = TOKENIZER.eos_id
    letters = [encode(letter)[0] for letter in "hello"]
    assert answer_ids(TOKENIZER, "hello", [*letters, end]) == ([*letters, end], False)
    thought = [*encode("hm"), *letters, *encode("STOP")]
    assert answer_ids(TOKENIZER, "hello", thought) == (thought, False)


def test_an_answer_that_went_on_keeps_the_ids_that_are_known() -> None:
    produced = [encode(letter)[0] for letter in "hell"]
    ids, is_retokenized = answer_ids(TOKENIZER, "so hello", produced)
    assert ids == [*encode("so "), *produced, *encode("o")]
    assert is_retokenized
    ids, _ = answer_ids(TOKENIZER, "hell and hello", produced)
    assert ids == [*encode("hell and "), *produced, *encode("o")]


@pytest.mark.parametrize("produced", [None, (), (99_999,), (0,)])
def test_without_fitting_ids_the_text_is_tokenised(produced) -> None:
    assert answer_ids(TOKENIZER, "hello", produced) == (encode("hello"), True)


def test_a_reasoning_stands_between_its_tags() -> None:
    tags = ReasoningTags("<think>", "</think>")
    ids = reasoning_ids(TOKENIZER, "hm", tags)
    text = b"".join(map(TOKENIZER.token_bytes, ids)).decode()
    assert text == "<think>\nhm\n</think>\n\n"
    is_open = ReasoningTags("<think>", "</think>", is_open=True)
    ids = reasoning_ids(TOKENIZER, "hm", is_open)
    assert b"".join(map(TOKENIZER.token_bytes, ids)).decode() == "\nhm\n</think>\n\n"
    assert reasoning_ids(TOKENIZER, "hm", None) == reasoning_ids(TOKENIZER, "", tags) == []
