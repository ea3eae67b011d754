"""One instance a profile."""

import subprocess
import sys
import threading

import pytest

from app.instance import SingleInstance

pytestmark = pytest.mark.usefixtures("qtbot")


@pytest.fixture
def first(tmp_path):
    instance = SingleInstance(tmp_path / "instance.lock")
    assert instance.claim()
    yield instance
    instance.release()


def test_the_second_start_raises_the_first_and_is_refused(qtbot, first, tmp_path):
    with qtbot.waitSignal(first.raise_requested, timeout=5000):
        second = SingleInstance(tmp_path / "instance.lock")
        assert not second.claim()


def test_the_model_of_the_second_start_goes_to_the_first(qtbot, first, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with qtbot.waitSignal(first.model_requested, timeout=5000) as heard:
        second = SingleInstance(tmp_path / "instance.lock")
        assert not second.claim("模型 a.gguf")
    assert heard.args == [str(tmp_path / "模型 a.gguf")]


def test_one_that_is_about_to_end_is_waited_for(first, tmp_path):
    first.stop_listening()
    ending = threading.Timer(0.3, first.release)
    ending.start()
    second = SingleInstance(tmp_path / "instance.lock")
    assert second.claim()
    second.release()
    ending.join()


@pytest.mark.usefixtures("first")
def test_another_profile_is_another_instance(tmp_path):
    (tmp_path / "other").mkdir()
    other = SingleInstance(tmp_path / "other" / "instance.lock")
    assert other.claim()
    other.release()


def test_after_the_end_the_next_start_is_first(tmp_path):
    for _ in range(2):
        instance = SingleInstance(tmp_path / "instance.lock")
        assert instance.claim()
        instance.release()


def test_a_killed_instance_does_not_block_the_next(tmp_path):
    code = (
        "import os, pathlib, signal, sys\n"
        "from PySide6.QtCore import QCoreApplication\n"
        "app = QCoreApplication([])\n"
        "from app.instance import SingleInstance\n"
        "one = SingleInstance(pathlib.Path(sys.argv[1]))\n"
        "assert one.claim()\n"
        "os.kill(os.getpid(), getattr(signal, 'SIGKILL', signal.SIGTERM))\n"
    )
    lock = tmp_path / "instance.lock"
    done = subprocess.run([sys.executable, "-c", code, str(lock)], check=False)
    assert done.returncode != 0
    instance = SingleInstance(lock)
    assert instance.claim()
    instance.release()


def test_a_folder_without_room_for_a_lock_does_not_stop_the_start(tmp_path, logfail):
    logfail.expect("No instance lock")
    instance = SingleInstance(tmp_path / "missing" / "instance.lock")
    assert instance.claim()
    instance.release()
