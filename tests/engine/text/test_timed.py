"""What the template and the detokenizer take, by a clock that tests can read."""

import pytest

from engine.api import Message
from engine.errors import TemplateError
from engine.text.detokenizer import Detokenizer
from engine.text.reasoning import ReasoningRouter
from engine.text.template import ChatTemplate, encode_chat
from engine.text.timed import TimedTemplate, TimedText
from tests.helpers.fake_model import CHATML, letter, make_tokenizer
from tests.helpers.fake_runner import FakeClock

MESSAGES = (Message("user", "hi"),)


def test_renderings_are_timed_and_say_the_same() -> None:
    plain = ChatTemplate(CHATML)
    timed = TimedTemplate(plain, FakeClock(5))
    tokenizer = make_tokenizer()
    for count in (1, 2):
        assert encode_chat(tokenizer, timed, MESSAGES) == encode_chat(tokenizer, plain, MESSAGES)
        assert timed.spent_ns == 5 * count


def test_a_refusal_takes_time_too() -> None:
    timed = TimedTemplate(ChatTemplate("{{ raise_exception('no') }}"), FakeClock(5))
    with pytest.raises(TemplateError):
        timed.render(MESSAGES)
    assert timed.spent_ns == 5


def test_each_token_and_the_rest_are_noted() -> None:
    spans: list[tuple[int, int]] = []
    router = ReasoningRouter(Detokenizer(make_tokenizer(), ("END",)), None, is_continued=False)
    text = TimedText(router, lambda start, end: spans.append((start, end)), FakeClock(1))
    said = "".join(text.push(letter(char)) for char in "aE")
    assert said + text.flush() == "aE"
    assert (text.stopped, text.take_reasoning()) == (False, "")
    assert spans == [(1, 2), (3, 4), (5, 6)]
