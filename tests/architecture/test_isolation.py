"""The checks around every test find what they are for."""

import logging
import os
import socket
import threading

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QWidget

from tests.helpers.leaks import QtWatch, new_threads
from tests.helpers.logfail import watch_log
from tests.helpers.offline import NetworkBlockedError


def record(message, level=logging.WARNING):
    return logging.LogRecord("engine.core", level, __file__, 1, message, (), None)


def test_a_warning_is_a_complaint_and_a_notice_is_not():
    with watch_log() as log:
        log.handle(record("the cache is gone"))
    assert log.complaints() == ["unexpected log record: WARNING engine.core: the cache is gone"]
    assert log.level == logging.WARNING


def test_an_expected_record_is_required():
    with watch_log() as log:
        log.expect("cache is .one")
        assert log.complaints() == ["expected log record never came: 'cache is .one'"]
        log.handle(record("the cache is gone"))
        assert log.complaints() == []


def test_a_running_thread_is_found(monkeypatch):
    monkeypatch.setattr("tests.helpers.leaks.JOIN_SECONDS", 0.01)
    before = threading.enumerate()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="straggler")
    thread.start()
    try:
        assert new_threads(before) == ["thread still running: straggler"]
    finally:
        stop.set()
        thread.join()
    assert new_threads(before) == []


@pytest.mark.usefixtures("qapp")
def test_running_timers_and_open_windows_are_found(monkeypatch):
    watch = QtWatch(monkeypatch)
    timer = QTimer()
    timer.setObjectName("tick")
    timer.start(1000)
    window = QWidget()
    window.show()
    found = watch.complaints()
    assert len(found) == 2
    assert found[0].startswith("timer still running: 'tick'")
    assert found[1].startswith("top-level widget left")
    timer.stop()
    window.close()
    assert watch.complaints() == []


def test_other_machines_are_out_of_reach():
    with socket.socket() as client, pytest.raises(NetworkBlockedError):
        client.connect(("192.0.2.1", 80))
    with pytest.raises(NetworkBlockedError):
        socket.getaddrinfo("example.invalid", 80)


def test_this_machine_is_within_reach():
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = server.getsockname()
        with socket.create_connection(address) as client:
            assert client.getpeername() == address


def test_data_and_settings_are_the_tests_own(isolated_home, tmp_path):
    assert tmp_path in isolated_home.parents
    assert os.environ["TOKENTIDE_HOME"] == str(isolated_home)
    assert os.environ["HF_HUB_OFFLINE"] == "1"
