"""Requests of OpenAI's protocol: what is understood, and what is refused with a sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.serving.asked import AskedError, read_asked
from engine.api import Message, SamplingParams

HELLO = {"messages": [{"role": "user", "content": "Hello"}]}


def read(*, is_chat=True, **values):
    body = {**HELLO, **values} if is_chat else values
    return read_asked(json.dumps(body).encode(), is_chat=is_chat)


def test_messages_in_all_their_forms():
    asked = read(
        messages=[
            {"role": "developer", "content": "Be brief."},
            {
                "role": "user",
                "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}],
            },
        ]
    )
    assert asked.messages == (Message("system", "Be brief."), Message("user", "ab"))
    assert asked.is_chat
    assert not asked.is_streamed


def test_parameters_take_the_place_of_the_windows():
    asked = read(
        temperature=0,
        top_p=0,
        top_k=5,
        max_completion_tokens=9,
        seed=3,
        stop=["a", ""],
        repeat_penalty=1.2,
        logit_bias={"7": -100},
    )
    usual = SamplingParams(min_p=0.2, stop=("x",), json_schema="{}")
    assert asked.params(usual) == SamplingParams(
        temperature=0.0,
        top_p=0.01,
        top_k=5,
        max_tokens=9,
        seed=3,
        min_p=0.2,
        stop=("a",),
        repetition_penalty=1.2,
        logit_bias=((7, -100.0),),
    )


@pytest.mark.parametrize(
    ("form", "schema"),
    [
        ({"type": "text"}, None),
        ({"type": "json_object"}, '{"type": "object"}'),
        ({"type": "json_schema", "json_schema": {"schema": {"type": "null"}}}, '{"type": "null"}'),
    ],
)
def test_the_form_of_the_answer(form, schema):
    assert read(response_format=form).params(SamplingParams()).json_schema == schema


def test_plain_text_goes_on():
    asked = read(
        is_chat=False, prompt=["One, two"], stream=True, stream_options={"include_usage": True}
    )
    assert (asked.prompt, asked.is_chat, asked.is_streamed) == ("One, two", False, True)
    assert asked.wants_usage


@pytest.mark.parametrize(
    ("values", "about"),
    [
        ({"messages": []}, "messages"),
        ({"messages": "Hello"}, "messages"),
        ({"messages": [3]}, "messages"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "messages"),
        ({"messages": [{"role": ["user"], "content": "x"}]}, "messages"),
        ({"messages": [{"role": "user"}]}, "messages"),
        ({"messages": [{"role": "user", "content": "\ud800"}]}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}, "messages"),
        ({"temperature": 3}, "temperature"),
        ({"temperature": True}, "temperature"),
        ({"temperature": float("nan")}, "temperature"),
        ({"top_k": 1.5}, "top_k"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"stop": 4}, "stop"),
        ({"stop": ["x"] * 17}, "stop"),
        ({"n": 2}, "n"),
        ({"tools": [{}]}, "tools"),
        ({"logit_bias": {"a": 1}}, "logit_bias"),
        ({"logit_bias": {"1": "b"}}, "1"),
        ({"response_format": {"type": "xml"}}, "response_format"),
        ({"response_format": {"type": "json_schema"}}, "response_format"),
    ],
)
def test_what_is_refused_is_named(values, about):
    with pytest.raises(AskedError) as caught:
        read(**values)
    assert caught.value.about == about
    assert caught.value.status == 400


@pytest.mark.parametrize("prompt", ["", None, ["a", "b"], 3])
def test_plain_text_that_is_none(prompt):
    with pytest.raises(AskedError):
        read(is_chat=False, prompt=prompt)


@given(st.binary(max_size=40) | st.just(b"[" * 100_000) | st.just(b"3"), st.booleans())
def test_any_other_body_is_refused(body, is_chat):
    with pytest.raises(AskedError):
        read_asked(body, is_chat=is_chat)
