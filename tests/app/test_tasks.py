"""Work off the GUI thread whose results come back to it in order."""

import threading
from functools import partial

import pytest

from app.tasks import SerialTasks

pytestmark = pytest.mark.usefixtures("qtbot")


@pytest.fixture
def tasks():
    tasks = SerialTasks("store")
    yield tasks
    assert tasks.close(5.0)


def test_results_come_back_in_the_gui_thread_in_order(qtbot, tasks):
    seen = []
    threads = []

    def work(number):
        threads.append(threading.current_thread().name)
        return number * number

    for number in range(50):
        tasks.run(lambda number=number: work(number), seen.append)
    qtbot.waitUntil(lambda: len(seen) == 50)
    assert seen == [number * number for number in range(50)]
    assert set(threads) == {"store"}


def test_callbacks_run_in_the_gui_thread(qtbot, tasks):
    where = []
    tasks.run(lambda: None, lambda _: where.append(threading.current_thread()))
    qtbot.waitUntil(lambda: bool(where))
    assert where == [threading.main_thread()]


def test_an_error_goes_to_its_own_callback_and_the_worker_goes_on(qtbot, tasks):
    errors, done = [], []
    tasks.run(lambda: 1 / 0, done.append, errors.append)
    tasks.run(lambda: "after", done.append)
    qtbot.waitUntil(lambda: bool(done))
    assert done == ["after"]
    assert isinstance(errors[0], ZeroDivisionError)


def test_an_error_nobody_takes_is_logged(qtbot, tasks, logfail):
    logfail.expect("Task failed in store")
    done = []
    tasks.run(lambda: 1 / 0)
    tasks.run(lambda: 1, done.append)
    qtbot.waitUntil(lambda: bool(done))


def test_close_finishes_the_queue_and_delivers():
    tasks = SerialTasks("store")
    seen = []
    for number in range(10):
        tasks.run(lambda number=number: number, seen.append)
    assert tasks.close(5.0)
    assert seen == list(range(10))
    tasks.run(lambda: 99, seen.append)
    assert tasks.close(5.0)
    assert 99 not in seen


def test_close_tells_when_work_takes_too_long():
    tasks = SerialTasks("store")
    release = threading.Event()
    tasks.run(release.wait)
    assert not tasks.close(0.01)
    release.set()
    assert tasks.close(5.0)


def test_a_task_may_start_another(qtbot, tasks):
    seen = []

    def again(value):
        seen.append(value)
        if value < 3:
            tasks.run(lambda: value + 1, again)

    tasks.run(lambda: 1, again)
    qtbot.waitUntil(lambda: seen == [1, 2, 3])


def test_a_task_that_comes_too_late_is_dropped_without_telling_what_it_was(caplog):
    tasks = SerialTasks("late")
    assert tasks.close(5)
    ran = []
    with caplog.at_level("INFO"):
        tasks.run(partial(ran.append, "a token"))
    assert "late was closed" in caplog.text
    assert "a token" not in caplog.text
    assert not ran
    tasks.deleteLater()
