"""The three forms of a prompt, and which answers begin a text."""

import pytest

from engine.api import GenerationRequest, Message, SamplingParams
from engine.errors import InvalidRequestError
from engine.text.prompt import answer_stream, encode_request
from engine.text.template import ChatTemplate
from tests.helpers.fake_model import CHATML, letter, make_tokenizer

TOKENIZER = make_tokenizer()
VOCAB = TOKENIZER.vocab_size - 1  # without "th", as if the model had no row for it


def _encode(**prompt: object) -> list[int]:
    request = GenerationRequest("a", 0, **prompt)
    return encode_request(request, TOKENIZER, ChatTemplate(CHATML), vocab_size=VOCAB)


def test_the_three_forms() -> None:
    assert _encode(prompt_ids=(3, 1, 49)) == [3, 1, 49]
    assert _encode(prompt="ab") == [letter("a"), letter("b")]
    start, *rest = _encode(messages=(Message("user", "ab"),))
    assert rest == [letter("a"), letter("b"), 0, start]


def test_an_answer_begun_is_continued_in_place() -> None:
    asked = (Message("user", "ab"),)
    begun = (*asked, Message("assistant", "cd"))
    assert _encode(messages=begun) == [*_encode(messages=asked), letter("c"), letter("d")]


@pytest.mark.parametrize(
    "prompt",
    [
        {},
        {"prompt": "a", "prompt_ids": (1,)},
        {"prompt": ""},
        {"prompt_ids": ()},
        {"prompt_ids": (VOCAB,)},
        {"prompt": "th"},
        {"messages": (Message("user", "th"),)},
        {"prompt_ids": (-1,)},
    ],
)
def test_no_prompt_or_two_or_an_impossible_one(prompt: dict[str, object]) -> None:
    with pytest.raises(InvalidRequestError, match="not started"):
        _encode(**prompt)


def test_a_plain_template_brings_its_own_stop_strings() -> None:
    params = SamplingParams(stop=("Z",))
    chat = GenerationRequest("a", 0, params, messages=(Message("user", "x"),))
    raw = GenerationRequest("a", 0, params, prompt="x")
    for request, ends_at_user in ((chat, True), (raw, False)):
        stream = answer_stream(request, TOKENIZER, _with_stop("User:"))
        for char in "User:":
            stream.push(letter(char))
        assert stream.stopped is ends_at_user
        stream.push(letter("Z"))
        assert stream.stopped


def _with_stop(*stop: str) -> ChatTemplate:
    template = ChatTemplate.plain()
    template.stop = stop
    return template
