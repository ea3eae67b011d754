import pytest

from ui.meters.curves import means
from ui.meters.experiment import CacheExperiment, verdict, with_cache, without_cache
from ui.theme import ThemeSource

MS = 1_000_000
KEPT = with_cache([n * 5 * MS for n in range(64)])
ANEW = without_cache([n * n * MS for n in range(64)])


@pytest.fixture
def dialog(qtbot):
    dialog = CacheExperiment(ThemeSource())
    qtbot.addWidget(dialog)
    dialog.show()
    return dialog


def test_means_keep_the_whole_and_stay_few():
    assert means([1, 2, 3]) == [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]
    points = means(range(1000), 60)
    assert len(points) <= 60
    assert points[0][0] == 9.0
    assert means([]) == []


def test_the_sentence_compares_as_many_tokens_as_both_have():
    words = verdict(KEPT, without_cache(ANEW.times_ns[:11]))
    assert words.startswith(
        "11 tokens took 50.0 ms with the cache and 100 ms without it: 2.0 times"
    )
    assert verdict(KEPT, without_cache([0])) == ""


def test_start_and_stop_are_one_button(qtbot, dialog):
    with qtbot.waitSignal(dialog.run_requested) as asked:
        dialog._start.click()
    assert asked.args == [256]
    dialog.set_running(is_running=True)
    assert dialog._start.text() == "Stop"
    with qtbot.waitSignal(dialog.cancel_requested):
        dialog._start.click()


def test_progress_the_end_and_the_table(dialog):
    dialog.set_running(is_running=True)
    dialog.show_runs(KEPT, without_cache(ANEW.times_ns[:32]), 64)
    assert dialog.state == "without the cache: 32 of 64 tokens"
    dialog.show_runs(KEPT, ANEW, 64)
    dialog.grab()
    dialog.show_end()
    assert not dialog.is_running
    assert "12.6 times as long" in dialog.verdict
    rows = [
        [dialog._table.item(row, column).text() for column in range(5)]
        for row in range(dialog._table.rowCount())
    ]
    assert rows[-1] == ["64", "5.0 ms", "315 ms", "125 ms", "3.97 s"]
    dialog._as_table.click()
    assert dialog._table.isVisible()


def test_why_nothing_can_be_measured(dialog):
    dialog.set_available(reason="Load a model first.")
    assert not dialog._start.isEnabled()
    assert dialog.state == "Load a model first."


def test_closing_gives_the_measurement_up(qtbot, dialog):
    dialog.set_running(is_running=True)
    with qtbot.waitSignal(dialog.cancel_requested):
        dialog.close()
