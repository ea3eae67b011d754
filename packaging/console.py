"""How the set-up talks: one line a step, a progress bar for bytes, one sentence for a failure."""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TextIO

BAR_WIDTH = 30


class SetupError(Exception):
    """Set-up cannot go on. The message is one sentence: what is wrong and what to do."""


def say(text: str) -> None:
    """Print a line at once, also into a pipe."""
    print(text, flush=True)


def megabytes(num_bytes: int) -> str:
    """Bytes as whole megabytes: 98 MB."""
    return f"{num_bytes / 1e6:,.0f} MB"


class ProgressBar:
    """Bytes done over bytes expected: one moving line on a terminal, one line per quarter else."""

    def __init__(self, label: str, total: int, stream: TextIO | None = None) -> None:
        self._label = label
        self._total = max(1, total)
        self._stream = stream or sys.stdout
        self._moves = self._stream.isatty()
        self._shown = -1

    def update(self, done: int) -> None:
        """Show ``done`` bytes; never more than all of them."""
        percent = min(100, done * 100 // self._total)
        step = percent if self._moves else percent // 25 * 25
        if step == self._shown:
            return
        self._shown = step
        filled = percent * BAR_WIDTH // 100
        bar = "#" * filled + "-" * (BAR_WIDTH - filled)
        line = f"{self._label} [{bar}] {percent:3d} % of {megabytes(self._total)}"
        self._stream.write(f"\r{line}" if self._moves else f"{line}\n")
        self._stream.flush()

    def close(self) -> None:
        """End the moving line."""
        if self._moves and self._shown >= 0:
            self._stream.write("\n")
            self._stream.flush()


@dataclass(frozen=True, slots=True)
class Result:
    """How a command ended. ``text`` is its error output, and its output where that was asked."""

    code: int
    text: str = ""


class Shell(Protocol):
    """Runs commands; the tests put their own in its place."""

    def run(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        waiting: Callable[[], None] | None = None,
    ) -> Result:
        """Run to the end, collecting what the command prints; call ``waiting`` meanwhile."""
        ...

    def show(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> int:
        """Run in the foreground, printing to the terminal; return the exit code."""
        ...


class SystemShell:
    """The real one. ``env`` is added to the environment; standard input stays closed to ``run``."""

    POLL_SECONDS = 0.2

    def run(
        self,
        command: Sequence[str],
        env: Mapping[str, str] | None = None,
        waiting: Callable[[], None] | None = None,
    ) -> Result:
        """Run to the end; code 127 when there is no such command."""
        try:
            process = subprocess.Popen(
                list(command),
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
            )
        except FileNotFoundError:
            return Result(127, f"{command[0]}: not found")
        with process:
            try:
                text = self._collect(process, waiting)
            except BaseException:
                process.terminate()
                raise
        return Result(process.returncode, text)

    def _collect(self, process: subprocess.Popen[str], waiting: Callable[[], None] | None) -> str:
        if waiting is None:
            return process.communicate()[0]
        while True:
            try:
                return process.communicate(timeout=self.POLL_SECONDS)[0]
            except subprocess.TimeoutExpired:
                waiting()

    def show(self, command: Sequence[str], env: Mapping[str, str] | None = None) -> int:
        """Run in the foreground; an interrupt reaches the command too and is its own affair."""
        return subprocess.run(
            list(command), env={**os.environ, **(env or {})}, check=False
        ).returncode
