"""Ctrl+C inside the block is a question, not an exception; quiet lines stay plain off a terminal."""

import signal
from collections.abc import Iterator

import pytest

from engine.api import LoadProgress, LoadStage
from engine.cli.terminal import LoadLine, StopOnInterrupt, write_quiet


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """As on a terminal; what a shell starts in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
def test_interrupts_are_noted_and_the_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGINT)
    with StopOnInterrupt() as interrupt:
        assert not interrupt.is_stopped()
        signal.raise_signal(signal.SIGINT)
        assert interrupt.is_stopped()
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_other_signals_count_where_they_are_named() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with StopOnInterrupt(signal.SIGTERM) as interrupt:
        signal.raise_signal(signal.SIGTERM)
        assert interrupt.is_stopped()
    assert signal.getsignal(signal.SIGTERM) is before


def test_quiet_lines_have_no_colour_off_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    write_quiet("8 tokens")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "8 tokens\n")


def test_progress_shows_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    half = LoadProgress("m", LoadStage.WEIGHTS, 1, 2)
    hidden = LoadLine()
    hidden(half)
    hidden.clear()
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    shown = LoadLine()
    shown(half)
    shown.clear()
    assert "50 %" in capsys.readouterr().err
