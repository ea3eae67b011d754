"""The set-up scripts are no package: their folder joins the path for these tests alone."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parents[2] / "packaging"
sys.path.insert(0, str(SCRIPTS))

from console import Result  # noqa: E402 - needs the path above


@dataclass
class FakeShell:
    """Remembers commands; answers by the first rule whose words all occur in the command."""

    rules: list[tuple[tuple[str, ...], Result | Callable[[Sequence[str]], Result]]] = field(
        default_factory=list
    )
    commands: list[list[str]] = field(default_factory=list)
    shown: list[tuple[list[str], Mapping[str, str]]] = field(default_factory=list)

    def answer(self, *words: str, with_: Result | Callable[[Sequence[str]], Result]) -> None:
        self.rules.append((words, with_))

    def run(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,  # noqa: ARG002 - the real one's signature
        waiting: Callable[[], None] | None = None,
    ) -> Result:
        self.commands.append(list(command))
        if waiting is not None:
            waiting()
        for words, answer in self.rules:
            if all(any(word in part for part in command) for word in words):
                return answer if isinstance(answer, Result) else answer(command)
        return Result(0, "")

    def show(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> int:
        self.shown.append((list(command), dict(env or {})))
        return 0

    def ran(self, *words: str) -> list[list[str]]:
        return [c for c in self.commands if all(any(w in part for part in c) for w in words)]


@pytest.fixture
def shell() -> FakeShell:
    return FakeShell()
