import pytest

from ui.experiments.past import PastRuns
from ui.experiments.rows import RunRow

ROWS = (RunRow("b", "today, INT4"), RunRow("a", "yesterday, INT8"))


@pytest.fixture
def past(qtbot, themes):
    past = PastRuns(themes)
    qtbot.addWidget(past)
    past.show()
    return past


def test_one_run_is_shown_and_the_others_can_stand_beside_it(qtbot, past):
    past.show_runs(ROWS, "b", "")
    assert past.list.currentItem().text() == "today, INT4"
    assert [past.other.itemText(n) for n in range(past.other.count())] == [
        "nothing",
        "yesterday, INT8",
    ]
    with qtbot.waitSignal(past.compared) as said:
        past.other.setCurrentIndex(1)
        past.other.activated.emit(1)
    assert said.args == ["a"]
    with qtbot.waitSignal(past.chosen) as said:
        past.list.setCurrentRow(1)
    assert said.args == ["a"]


def test_the_shown_run_can_be_deleted(qtbot, past):
    past.show_runs(ROWS, "b", "a")
    assert past.other.currentData() == "a"
    with qtbot.waitSignal(past.removed) as said:
        past._remove.click()
    assert said.args == ["b"]


def test_a_deletion_can_be_undone(qtbot, past):
    past.show_runs((), "", "")
    assert not past._restore.isVisible()
    past.offer_undo(is_offered=True)
    with qtbot.waitSignal(past.restored):
        past._restore.click()


def test_without_runs_nothing_is_seen(past):
    past.show_runs((), "", "")
    assert not past.list.isVisible()
    past.show_runs(ROWS[:1], "b", "")
    assert past.list.isVisible()
    assert not past.other.isVisible()


def test_the_same_list_leaves_an_open_box_alone(past):
    past.show_runs(ROWS, "b", "")
    item = past.list.item(0)
    past.show_runs(ROWS, "b", "")
    assert past.list.item(0) is item
