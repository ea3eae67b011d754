"""The time limit sees loops of the watched file and recursions anywhere, and leaves no trace."""

import sys
import threading

import pytest

from engine.text.deadline import Deadline, RenderStopped

FILE = "<watched>"


def compiled(source: str, file: str = FILE):
    return compile(source, file, "exec")


@pytest.mark.parametrize(
    "source",
    [
        "while True:\n    pass",
        "for a in iter(int, 1):\n    pass",
        "def f(n):\n    return f(n - 1) + f(n - 1) if n else 0\nf(200)",
        "g = (x for x in iter(int, 1))\nsum(g)",
    ],
)
def test_endless_code_is_stopped(source: str) -> None:
    with pytest.raises(RenderStopped), Deadline(0.02, watched_file=FILE):
        exec(compiled(source), {})


def test_a_long_line_is_stopped_when_every_instruction_is_watched() -> None:
    line = "x = " + " or ".join(["n.count(0)"] * 20_000)
    names = {"n": [1] * 10_000}
    with (
        pytest.raises(RenderStopped),
        Deadline(0.02, watched_file=FILE, every_instruction=True),
    ):
        exec(compiled(line), names)


def test_quick_code_passes() -> None:
    names: dict[str, int] = {}
    with Deadline(60.0, watched_file=FILE):
        exec(compiled("total = sum(i for i in range(100))"), names)
    assert names["total"] == 4950


def test_waiting_for_the_processor_does_not_count() -> None:
    with Deadline(0.05, watched_file=FILE):
        exec(
            compiled("event.wait(0.2)\nfor _ in range(10):\n    pass"),
            {"event": threading.Event()},
        )


def test_the_previous_trace_function_comes_back() -> None:
    before = sys.gettrace()

    def trace(_frame, _event, _arg):
        return None

    sys.settrace(trace)
    try:
        with Deadline(60.0, watched_file=FILE):
            pass
        assert sys.gettrace() is trace
        with pytest.raises(RenderStopped), Deadline(0.0, watched_file=FILE):
            exec(compiled("while True: pass"), {})
        assert sys.gettrace() is trace
    finally:
        sys.settrace(before)


def test_nothing_swallows_the_stop() -> None:
    source = "while True:\n    try:\n        len('x')\n    except Exception:\n        pass"
    with pytest.raises(RenderStopped), Deadline(0.02, watched_file=FILE):
        exec(compiled(source), {})
