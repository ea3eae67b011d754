"""The message of a token is found by writing the beginnings of a conversation."""

import pytest

from engine.api import LeftOut, Message
from engine.errors import TemplateError
from engine.text.whereabouts import message_at

CHAT = (
    Message("system", "Be kind."),
    Message("user", "Hello."),
    Message("assistant", "Good morning!"),
    Message("user", "What is a tide?"),
    Message("assistant", "Water that comes and goes."),
    Message("user", "Why?"),
)


def encode(messages):
    """As templates write: a header, the words, an end; then the header of an answer."""
    text = "".join(f"<{m.role}>{m.content}|" for m in messages[:-1])
    last = messages[-1]
    text += f"<{last.role}>{last.content}"
    return [ord(c) for c in (text if last.role == "assistant" else f"{text}|<assistant>")]


def place_of(words, messages=CHAT, left_out=None, encode=encode):
    kept = messages
    if left_out is not None:
        end = left_out.first + left_out.num_messages
        kept = (*messages[: left_out.first], *messages[end:])
    ids = encode(kept)
    position = "".join(map(chr, ids)).index(words)
    return message_at(position, ids, messages, left_out, encode)


@pytest.mark.parametrize(
    ("words", "place"),
    [
        ("Be kind", ("system", 1)),
        ("kind.", ("system", 1)),
        ("Hello", ("user", 1)),
        ("morning", ("assistant", 1)),
        ("tide?", ("user", 2)),
        ("goes.", ("assistant", 2)),
        ("Why?", ("user", 3)),
    ],
)
def test_each_message_is_found(words, place):
    assert place_of(words) == place


def test_messages_that_are_left_out_count():
    gap = LeftOut(1, 2, 30)
    assert place_of("tide", left_out=gap) == ("user", 2)
    assert place_of("kind", left_out=gap) == ("system", 1)


def test_nothing_is_found_behind_the_last_message():
    ids = encode(CHAT)
    assert message_at(len(ids), ids, CHAT, None, encode) is None
    assert message_at(0, [1, 2], (), None, encode) is None


def test_a_template_that_refuses_a_beginning_leaves_it_open():
    def refuse(messages):
        if len(messages) < len(CHAT):
            raise TemplateError("No.", reason="turns")
        return encode(messages)

    assert message_at(3, encode(CHAT), CHAT, None, refuse) is None
