"""Progress and subprocesses of the set-up."""

import io
import sys

from console import ProgressBar, SystemShell, megabytes


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_pipe_gets_a_line_a_quarter():
    stream = io.StringIO()
    bar = ProgressBar("Fetching", 1000, stream)
    for done in range(0, 1001, 10):
        bar.update(done)
    bar.close()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 5
    assert lines[-1].startswith("Fetching [######")
    assert "100 %" in lines[-1]


def test_a_terminal_gets_one_moving_line():
    stream = Terminal()
    bar = ProgressBar("Fetching", 1000, stream)
    bar.update(0)
    bar.update(5000)
    bar.close()
    assert stream.getvalue().count("\r") == 2
    assert stream.getvalue().endswith("100 % of 0 MB\n")


def test_a_bar_never_shown_ends_nothing():
    stream = Terminal()
    ProgressBar("Fetching", 1000, stream).close()
    assert stream.getvalue() == ""


def test_the_shell_collects_both_streams_and_the_code():
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    result = SystemShell().run([sys.executable, "-c", script])
    assert result.code == 3
    assert {"out", "err"} <= set(result.text.split())


def test_the_shell_waits_aloud_and_passes_variables(monkeypatch, tmp_path):
    monkeypatch.setattr(SystemShell, "POLL_SECONDS", 0.01)
    signal = tmp_path / "waited"
    script = (
        "import os, sys; sys.stdin.read()\n"
        "while not os.path.exists(os.environ['TIDE']): pass\n"
        "print('heard')"
    )
    result = SystemShell().run([sys.executable, "-c", script], {"TIDE": str(signal)}, signal.touch)
    assert result.text.strip() == "heard"


def test_a_missing_command_is_a_code():
    assert SystemShell().run(["surely-no-such-command"]).code == 127


def test_bytes_read_well():
    assert megabytes(98_362_432) == "98 MB"
