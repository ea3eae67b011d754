"""A budget that one can set."""

import pytest

from ui.inspector.machine.budget import MIB, BudgetRow


@pytest.fixture
def row(qtbot):
    made = BudgetRow("KV cache budget", 16, 4_096, 64)
    qtbot.addWidget(made)
    made.show()
    made.set_budget(None, 100 * MIB + 1)
    return made


def test_it_begins_with_what_is_in_force(row):
    assert row.box.value() == 101  # what is in force fits in it
    assert not row.apply.isEnabled()
    assert not row.automatic.isVisible()


def test_another_number_is_told_and_applied(qtbot, row):
    with qtbot.waitSignal(row.changed) as told:
        row.box.setValue(256)
    assert told.args == [256]
    with qtbot.waitSignal(row.applied) as told:
        row.apply.click()
    assert told.args == [256]


def test_a_number_that_is_being_chosen_stays(row):
    row.box.setValue(256)
    row.set_budget(None, 90 * MIB)
    assert row.box.value() == 256
    row.set_budget(512, 90 * MIB)  # the setting was changed elsewhere
    assert row.box.value() == 512
    assert not row.apply.isEnabled()


def test_back_to_automatic(qtbot, row):
    row.set_budget(512, 90 * MIB)
    with qtbot.waitSignal(row.applied) as told:
        row.automatic.click()
    assert told.args == [None]


def test_what_it_would_give(row):
    row.set_gives("Gives much.")
    assert row.text == "Gives much."
