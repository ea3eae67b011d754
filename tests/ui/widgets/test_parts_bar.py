import pytest

from ui.theme import ThemeSource
from ui.widgets.parts_bar import Legend, Part, PartsBar


@pytest.fixture
def bar(qtbot):
    bar = PartsBar(ThemeSource())
    qtbot.addWidget(bar)
    bar.resize(200, 6)
    return bar


def test_parts_share_the_width(bar):
    bar.set_parts([Part("stage_queue", 1, "a"), Part("stage_prefill", 3, "b")])
    assert bar.spans() == [(0, 50), (50, 150)]
    assert bar.part_at(10).label == "a"
    assert bar.part_at(60).label == "b"


def test_what_is_missing_to_the_total_is_track(bar):
    bar.set_parts([Part("stage_queue", 1, "a")], total=4)
    assert bar.spans() == [(0, 50)]
    assert bar.part_at(150) is None


def test_a_small_part_is_seen_and_the_bar_stays_full(bar):
    bar.set_parts([Part("stage_queue", 1, "a"), Part("stage_prefill", 1e9, "b")])
    (_, small), (left, large) = bar.spans()
    assert small == 3
    assert left + large == pytest.approx(200)


def test_empty_bars_have_no_parts(bar):
    bar.set_parts([Part("stage_queue", 0, "a")])
    assert bar.spans() == []
    bar.set_parts([])
    assert bar.part_at(1) is None


def test_parts_are_described_for_screen_readers(bar):
    bar.set_parts([Part("stage_queue", 1, "a", "queue 1 ms"), Part("line", 2, "b", "rest 2 ms")])
    assert bar.accessibleDescription() == "queue 1 ms; rest 2 ms"


def test_a_legend_wraps_where_it_must(qtbot):
    legend = Legend(ThemeSource())
    qtbot.addWidget(legend)
    legend.set_parts([Part("stage_queue", 1, f"part {n}") for n in range(5)])
    assert legend.heightForWidth(2_000) < legend.heightForWidth(120)
    assert legend.accessibleName() == "part 0, part 1, part 2, part 3, part 4"
    legend.set_parts([Part("stage_queue", 1, "")])
    assert legend.text() == ""


def test_a_legend_keeps_its_lines_until_its_width_changes(qtbot):
    legend = Legend(ThemeSource())
    qtbot.addWidget(legend)
    legend.show()
    legend.resize(120, 40)
    legend.set_parts([Part("stage_queue", 1, f"part {n}") for n in range(5)])
    tall = legend.heightForWidth(120)
    legend.set_parts([])
    assert legend.heightForWidth(120) == tall
    legend.resize(2_000, 40)
    assert legend.heightForWidth(2_000) < tall
