"""The process: what it imports when, how it ends, what it prints, and that it is alone."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QLocale

from app.main import Interrupts, install_translators, main

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 60


@contextmanager
def running(home, *arguments):
    """The app in a process of its own, without a model; ended at the end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "app", "--home", str(home), *arguments],
        cwd=ROOT,
        env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_until_open(process, home):
    """The store opens after the first paint: then the window is up."""
    database = home / "conversations.sqlite3"
    for _ in range(DEADLINE_S * 10):
        assert process.poll() is None, process.communicate()
        if database.exists() and database.stat().st_size:
            return
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
    pytest.fail("the window did not open")


@pytest.mark.skipif(sys.platform == "win32", reason="there torch comes first, on purpose")
def test_starting_imports_no_torch():
    code = (
        "import sys, app.main; sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_cleanly_and_nothing_is_printed(tmp_path, number):
    with running(tmp_path) as process:
        wait_until_open(process, tmp_path)
        process.send_signal(number)
        out, err = process.communicate(timeout=DEADLINE_S)
    assert (process.returncode, out, err) == (0, b"", b"")
    assert (tmp_path / "config" / "settings.json").exists()
    assert not (tmp_path / "logs" / "crash.txt").exists()


def test_a_second_start_goes_away_with_status_0_and_the_first_stays(tmp_path):
    with running(tmp_path) as first:
        wait_until_open(first, tmp_path)
        with running(tmp_path) as second:
            out, err = second.communicate(timeout=DEADLINE_S)
            assert (second.returncode, out, err) == (0, b"", b"")
        assert first.poll() is None


def test_an_unknown_option_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--warp"])
    assert ended.value.code == 2
    assert "--warp" in capsys.readouterr().err


@pytest.mark.parametrize("language", ["en", "xx"])
def test_a_language_without_a_catalogue_needs_none(qapp, tmp_path, language):
    before = QLocale()
    assert install_translators(qapp, language, tmp_path) == []
    assert QLocale() == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals of a terminal")
def test_interrupts_close_the_windows(qtbot, qapp):
    closed = []
    interrupts = Interrupts(qapp)
    interrupts.interrupted.connect(lambda: closed.append(True))
    os.kill(os.getpid(), signal.SIGINT)
    qtbot.waitUntil(lambda: bool(closed))
    interrupts.stop()
