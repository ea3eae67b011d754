"""The commands as a person gives them; every failure is one sentence and no traceback."""

import errno
import sys
from pathlib import Path

import libraries
import pytest
import starter
import steps
from console import SetupError
from environment import Environment

ROOT = Path(__file__).parents[2]


@pytest.fixture
def set_up(monkeypatch, tmp_path):
    """Everything is installed already; calls are noted in order."""
    calls = []
    model = tmp_path / "starter.gguf"
    monkeypatch.setenv("DISPLAY", ":9")
    monkeypatch.setattr(
        libraries, "missing_packages", lambda *, tests, **_: calls.append(f"libraries {tests}")
    )
    monkeypatch.setattr(libraries, "provide", lambda *_, **__: None)
    monkeypatch.setattr(
        Environment, "prepare", lambda self, **_: calls.append(f"environment {self.dev}")
    )
    monkeypatch.setattr(starter, "starter_path", lambda *_: model)
    monkeypatch.setattr(starter, "fetch", lambda *_, offline: calls.append(f"model {offline}"))
    return calls


def test_install_does_the_three_parts(set_up, shell, capsys):
    assert steps.main(["install"], shell) == 0
    assert [call for call in set_up if "libraries" not in call] == [
        "environment False",
        "model False",
    ]
    assert "bootstrap.py run" in capsys.readouterr().out


def test_test_runs_pytest_on_a_virtual_screen(set_up, shell, monkeypatch, tmp_path):
    monkeypatch.setattr(steps.shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(steps, "LINUX", True)
    assert steps.main(["test", "--offline", "--", "-k", "kv"], shell) == 0
    ((command, env),) = shell.shown
    assert command[0] == "xvfb-run"
    assert command[-4:] == ["-m", "pytest", "-k", "kv"]
    assert env["QT_QPA_PLATFORM"] == "xcb"
    assert env[starter.VARIABLE] == str(tmp_path / "starter.gguf")
    assert set_up == ["libraries True", "environment True", "model True"]


@pytest.mark.usefixtures("set_up")
def test_test_without_xvfb_draws_nowhere(shell, monkeypatch):
    monkeypatch.setattr(steps.shutil, "which", lambda _: None)
    assert steps.main(["test"], shell) == 0
    ((command, env),) = shell.shown
    assert command[1:] == ["-m", "pytest"]
    assert env["QT_QPA_PLATFORM"] == "offscreen"


@pytest.mark.usefixtures("set_up")
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX replaces the process")
@pytest.mark.parametrize("named", [False, True])
def test_run_becomes_the_app(shell, monkeypatch, tmp_path, named):
    seen = []
    monkeypatch.delenv(starter.VARIABLE, raising=False)
    if named:
        monkeypatch.setenv(starter.VARIABLE, str(tmp_path / "starter.gguf"))

    def execv(program, command):
        seen.extend([program, *command])
        raise SystemExit(0)

    monkeypatch.setattr(steps.os, "execv", execv)
    with pytest.raises(SystemExit):
        steps.main(["run", "--", "--lang", "zh_CN"], shell)
    elsewhere = ["--model", str(tmp_path / "starter.gguf")] if named else []
    assert seen[1:] == [seen[0], "-m", "app", *elsewhere, "--lang", "zh_CN"]


def test_run_without_a_display_says_so_before_installing(set_up, shell, monkeypatch, capsys):
    monkeypatch.setattr(steps, "LINUX", True)
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    assert steps.main(["run"], shell) == 1
    assert set_up == []
    assert "no display" in capsys.readouterr().err


@pytest.mark.usefixtures("set_up")
@pytest.mark.parametrize(
    ("raised", "code", "said"),
    [
        (SetupError("The sky is down: wait."), 1, "tokentide: The sky is down: wait."),
        (KeyboardInterrupt(), 130, "Nothing is half done"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "disk is full"),
        (PermissionError(errno.EACCES, "Permission denied", "/x"), 1, "/x may not be written"),
        (OSError(errno.EIO, "Input/output error", "/y"), 1, "Input/output error (/y)"),
    ],
)
def test_a_failure_is_one_sentence(shell, monkeypatch, capsys, raised, code, said):
    def fail(*_, **__):
        raise raised

    monkeypatch.setattr(starter, "fetch", fail)
    assert steps.main(["install"], shell) == code
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error
