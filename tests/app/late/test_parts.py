"""Parts are made step by step: the wanted ones first, the others while nothing else is to do."""

import pytest
from PySide6.QtCore import QObject

from app.late.parts import LateParts, imports


@pytest.fixture
def log():
    return []


@pytest.fixture
def parts(qapp, log):
    assert qapp

    def steps(name):
        for number in range(3):
            log.append((name, number))
            yield

    owner = QObject()
    parts = LateParts(owner)
    for name in ("one", "two", "three"):
        parts.add(name, steps(name))
    yield parts
    parts.stop()


def test_nothing_is_made_unasked(qtbot, parts, log):
    qtbot.wait(50)
    assert log == []
    assert not parts.is_made("one")


def test_what_is_wanted_is_made_alone_and_not_at_once(qtbot, parts, log):
    parts.want("two")
    assert log == []
    qtbot.waitUntil(lambda: parts.is_made("two"))
    assert log == [("two", n) for n in range(3)]
    qtbot.wait(30)
    assert not parts.is_made("one")


def test_wanting_twice_or_what_is_made_or_unknown_does_nothing(qtbot, parts, log):
    parts.want("two")
    parts.want("two")
    qtbot.waitUntil(lambda: parts.is_made("two"))
    parts.want("two")
    parts.want("unheard of")
    qtbot.wait(30)
    assert len(log) == 3


def test_the_rest_is_made_while_there_is_nothing_else_to_do(qtbot, parts, log):
    is_idle = [False]
    parts.begin(lambda: is_idle[0])
    qtbot.wait(60)
    assert log == []
    is_idle[0] = True
    qtbot.waitUntil(lambda: all(map(parts.is_made, ("one", "two", "three"))))
    assert [name for name, _ in log] == ["one"] * 3 + ["two"] * 3 + ["three"] * 3


def test_what_is_wanted_goes_before_the_rest_and_does_not_wait_for_idleness(qtbot, parts, log):
    parts.begin(lambda: False)
    parts.want("three")
    qtbot.waitUntil(lambda: parts.is_made("three"))
    assert {name for name, _ in log} == {"three"}


def test_an_action_runs_once_its_part_is_made(qtbot, parts, log):
    parts.after("one", lambda: log.append("then"))
    assert log == []
    qtbot.waitUntil(lambda: "then" in log)
    assert log == [("one", 0), ("one", 1), ("one", 2), "then"]
    parts.after("one", lambda: log.append("at once"))
    assert log[-1] == "at once"


def test_a_part_that_fails_does_not_keep_the_others(qtbot, parts, log):
    def broken():
        yield
        raise LookupError("no such view")

    parts.add("broken", broken())
    parts.after("broken", lambda: log.append("shown"))
    with qtbot.captureExceptions() as exceptions:
        parts.want("two")
        qtbot.waitUntil(lambda: parts.is_made("two"))
    assert [kind for kind, *_ in exceptions] == [LookupError]
    assert "shown" not in log
    assert log == [("two", n) for n in range(3)]


def test_everything_can_be_made_now(parts, log):
    done = []
    parts.after("two", lambda: done.append(1))
    parts.finish()
    assert len(log) == 9
    assert done == [1]


def test_nothing_is_made_after_the_end(qtbot, parts, log):
    parts.want("one")
    parts.stop()
    qtbot.wait(30)
    assert log == []


def test_imports_are_steps(qapp):
    assert qapp
    steps = imports("json", "base64")
    assert len(list(steps)) == 2
    with pytest.raises(ModuleNotFoundError):
        list(imports("no.such.module"))
