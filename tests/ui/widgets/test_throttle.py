from PySide6.QtCore import QObject, QTimer

from ui.widgets.throttle import Debounce, Throttle


def make(kind, interval):
    calls = []
    parent = QObject()
    return kind("test", lambda: calls.append(1), interval, parent), calls, parent


def test_the_first_call_runs_at_once_and_a_burst_becomes_one(qtbot):
    throttle, calls, _parent = make(Throttle, 20)
    throttle.call()
    assert len(calls) == 1
    for _ in range(100):
        throttle.call()
    assert len(calls) == 1
    qtbot.waitUntil(lambda: len(calls) == 2)
    qtbot.wait(60)
    assert len(calls) == 2


def test_flush_runs_what_waits_and_cancel_forgets_it(qapp):
    throttle, calls, _parent = make(Throttle, 10_000)
    assert qapp is not None
    throttle.call()
    throttle.call()
    throttle.flush()
    assert len(calls) == 2
    throttle.flush()
    assert len(calls) == 2
    throttle.call()
    throttle.cancel()
    throttle.flush()
    assert len(calls) == 2


def test_a_pause_in_which_nothing_is_called_wakes_nobody(qtbot):
    throttle, calls, parent = make(Throttle, 20)
    timer = parent.findChild(QTimer, "test")
    throttle.call()
    assert not timer.isActive()
    throttle.call()
    assert timer.isActive()
    qtbot.waitUntil(lambda: len(calls) == 2)
    assert not timer.isActive()


def test_after_the_pause_a_call_runs_at_once(qtbot):
    throttle, calls, _parent = make(Throttle, 1)
    throttle.call()
    qtbot.wait(20)
    throttle.call()
    assert len(calls) == 2


def test_debounce_waits_for_a_pause(qtbot):
    debounce, calls, _parent = make(Debounce, 20)
    for _ in range(5):
        debounce.call()
    assert not calls
    qtbot.waitUntil(lambda: len(calls) == 1)
    debounce.call()
    debounce.flush()
    assert len(calls) == 2
    debounce.call()
    debounce.cancel()
    debounce.flush()
    assert len(calls) == 2
