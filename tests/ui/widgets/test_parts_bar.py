import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QPaintEvent, QRegion
from PySide6.QtWidgets import QVBoxLayout, QWidget
from typing_extensions import override

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


class Seen(QObject):
    """What a widget is asked to lay out and to paint."""

    def __init__(self, widget):
        super().__init__(widget)
        self.layouts, self.painted = 0, QRegion()
        widget.installEventFilter(self)

    @override
    def eventFilter(self, watched, event):
        self.layouts += event.type() is QEvent.Type.LayoutRequest
        if isinstance(event, QPaintEvent):
            self.painted += event.region()
        return False


@pytest.fixture
def column(qtbot):
    column = QWidget()
    qtbot.addWidget(column)
    legend = Legend(ThemeSource(), column)
    layout = QVBoxLayout(column)
    layout.addWidget(legend)
    layout.addStretch(1)
    column.resize(300, 300)
    column.show()
    qtbot.waitExposed(column)
    legend.set_parts([Part("stage_queue", 1, "this chat 3.1 MB"), Part("stage_paint", 1, "KV")])
    qtbot.wait(1)
    yield column, legend
    column.close()


def test_new_words_on_as_many_lines_are_painted_alone(qtbot, column):
    column, legend = column
    requests, painted = Seen(column), Seen(legend)
    legend.set_parts([Part("stage_queue", 1, "this chat 3.2 MB"), Part("stage_paint", 9, "KV")])
    qtbot.waitUntil(lambda: not painted.painted.isEmpty())
    assert requests.layouts == 0
    first, second = legend._places(legend.width())
    assert painted.painted.intersects(first.rect)
    assert not painted.painted.intersects(second.rect)


def test_words_that_need_more_lines_are_laid_out(qtbot, column):
    column, legend = column
    requests = Seen(column)
    height = legend.height()
    legend.set_parts([Part("stage_queue", 1, f"a part with a long name {n}") for n in range(4)])
    qtbot.waitUntil(lambda: legend.height() > height)
    assert requests.layouts >= 1


def test_a_legend_follows_the_zoom(qtbot):
    themes = ThemeSource()
    legend = Legend(themes)
    qtbot.addWidget(legend)
    legend.set_parts([Part("stage_queue", 1, "a part")])
    (small,) = legend._places(400)
    themes.set(themes.theme, 2.0)
    (large,) = legend._places(400)
    assert large.rect.width() > small.rect.width()
