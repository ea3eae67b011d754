"""The conversation on the terminal: what is asked of the engine, and what a failure leaves."""

import io
from collections.abc import Callable, Iterable

import pytest

from engine.api import FinishReason, GenerationRequest, Message
from engine.cli import chat
from engine.cli.arguments import parse
from engine.cli.session import Answer
from engine.errors import PromptTooLongError


class ScriptedSession:
    """Answers from a list; an exception in it is raised."""

    asked: list[GenerationRequest]

    def __init__(self, answers: list[str | Exception]) -> None:
        self.asked = []
        self._answers = answers

    def __call__(self, _options: object, _progress: object) -> "ScriptedSession":
        return self

    def next_id(self) -> str:
        return str(len(self.asked))

    def run(
        self,
        requests: Iterable[GenerationRequest],
        on_text: Callable[[str], None],
        _is_stopped: Callable[[], bool],
    ) -> list[Answer]:
        self.asked += requests
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        on_text(answer)
        return [Answer(answer, [1, 2], [0, 1], FinishReason.END_OF_TEXT)]


def converse(
    monkeypatch: pytest.MonkeyPatch, answers: list[str | Exception], typed: str, *words: str
) -> list[GenerationRequest]:
    session = ScriptedSession(answers)
    monkeypatch.setattr(chat, "Session", session)
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert chat.run_chat(parse(["chat", "--model", "m", *words])) == 0
    return session.asked


def test_each_turn_carries_what_was_said_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = "one\n\n  \ntwo\n"
    first, second = converse(monkeypatch, ["uno", "dos"], typed, "--system", "be brief")
    system, one = Message("system", "be brief"), Message("user", "one")
    assert first.messages == (system, one)
    assert second.messages == (system, one, Message("assistant", "uno"), Message("user", "two"))
    captured = capsys.readouterr()
    assert captured.out == "uno\ndos\n"
    assert captured.err == "2 tokens · end of text\n" * 2


def test_a_failure_is_said_and_the_conversation_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    too_long = PromptTooLongError("The prompt is too long.", needed=2, limit=1)
    requests = converse(monkeypatch, ["a", too_long, "c"], "1\n2\n3\n")
    assert [m.content for m in requests[2].messages] == ["1", "a", "3"]
    assert "The prompt is too long." in capsys.readouterr().err


def test_raw_lines_are_prompts_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = converse(monkeypatch, ["a", "b"], "1\n2\n", "--raw")
    assert [request.prompt for request in requests] == ["1", "2"]
    assert not any(request.messages for request in requests)
