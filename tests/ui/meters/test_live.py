from dataclasses import replace

import pytest
from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QScrollArea
from typing_extensions import override

from tests.helpers.sample_engine import MODEL, MS, STATS, TIMELINE
from ui.meters.live import REPAINT_MS, LiveMeters
from ui.theme import DARK, ThemeSource


@pytest.fixture
def meters(qtbot):
    meters = LiveMeters(ThemeSource())
    qtbot.addWidget(meters)
    meters.resize(300, 800)
    meters.show()
    return meters


def repaint(meters):
    assert meters._repaint.isActive()
    meters._repaint.stop()
    meters._repaint.timeout.emit()


def test_nothing_is_claimed_before_it_is_known(meters):
    for reading in (meters._ttft, meters._gaps, meters._kv, meters._memory):
        assert reading.text == "—"


def test_the_first_token_and_its_parts(meters):
    meters.start_answer()
    meters.set_pending("prefill 512 of 2,397 tokens")
    assert meters._prompt.text() == "prefill 512 of 2,397 tokens"
    meters.set_ttft(182 * MS)
    assert meters._ttft.text == "182 ms"
    meters.set_timeline(TIMELINE)
    assert meters._ttft.text == "182 ms prefill 565 tok/s"
    assert "prefill 154 ms" in meters._ttft_bar.accessibleDescription()
    assert meters._prompt.text() == "2,310 of 2,397 prompt tokens from cache"
    repaint(meters)


def test_gaps_show_at_the_next_repaint_not_at_each_token(meters):
    meters.start_answer()
    for n in range(101):
        meters.add_token_times([n * 5 * MS])
    assert meters._gaps.text == "—"
    repaint(meters)
    assert meters._gaps.text == "5.0 ms decode 200 tok/s"
    assert meters._spread.text() == "p50 5.0 · p95 5.0 · max 5.0 ms"


def test_repaints_are_at_most_ten_a_second(meters):
    assert REPAINT_MS >= 100
    meters.set_stats(STATS)
    timer_id = meters._repaint.timerId()
    meters.set_stats(STATS)
    assert meters._repaint.timerId() == timer_id
    repaint(meters)


def test_a_new_answer_forgets_the_last(meters):
    meters.add_token_times([0, 5 * MS, 10 * MS])
    meters.set_timeline(TIMELINE)
    meters.start_answer()
    repaint(meters)
    assert meters._ttft.text == "—"
    assert meters._gaps.text == "—"
    assert meters._ttft_legend.text() == ""


def test_cache_and_memory(meters):
    meters.set_model(MODEL)
    meters.set_chat_tokens(2_397, 12)
    meters.set_counted(1, is_live=True)
    meters.set_stats(STATS)
    repaint(meters)
    assert meters._kv.text == "70.3 MiB / 180 3,197 tok"
    assert meters._kv_legend.text() == "this chat 52.7 MiB · kept for reuse 17.6 MiB"
    assert meters._turns.text() == "22.5 KiB/tok · ~29 turns left\nthis chat 2,397 of 8,192 tok"
    assert meters._memory.text == "600 MiB / 16 GiB"


def test_without_a_model_the_cache_is_unknown(meters):
    meters.set_model(MODEL)
    meters.set_stats(STATS)
    meters.set_model(None)
    repaint(meters)
    assert meters._kv.text == "—"
    assert meters._turns.text() == ""


def test_an_answer_that_never_started_leaves_no_figures(meters):
    meters.start_answer()
    meters.set_timeline(None)
    repaint(meters)
    assert meters._ttft.text == "—"


def test_the_cache_of_an_answer_that_has_ended_is_its_own_until_the_next_gauges(meters):
    meters.set_model(MODEL)
    meters.start_answer()
    meters.set_chat_tokens(2_397, 12)
    meters.set_counted(1, is_live=True)
    meters.set_stats(STATS)
    meters.set_timeline(TIMELINE)
    repaint(meters)
    assert meters._kv_legend.text() == "this chat 52.7 MiB · kept for reuse 17.6 MiB"
    meters.set_counted(0, is_live=False)
    meters.set_stats(replace(STATS, kv_live_tokens=0, kv_live_blocks=0, num_running=0))
    repaint(meters)
    assert meters._kv_legend.text() == "kept for reuse 17.6 MiB"


def test_an_experiment_stays_one_until_the_gauges_know_of_a_new_answer(meters):
    meters.set_model(MODEL)
    meters.set_counted(0, is_live=False)
    meters.set_stats(STATS)
    meters.start_answer()
    repaint(meters)
    assert "an experiment 52.7 MiB" in meters._kv_legend.text()


def test_readings_are_spoken_with_their_titles(meters):
    meters.set_timeline(TIMELINE)
    assert meters._ttft.accessibleName().startswith("First token (TTFT): 182 ms")
    repaint(meters)


def test_it_paints_in_both_schemes(meters):
    meters.set_model(MODEL)
    meters.set_stats(STATS)
    meters.set_timeline(TIMELINE)
    meters.add_token_times([n * 5 * MS for n in range(40)])
    repaint(meters)
    before = meters.grab().toImage()
    meters._trace._themes.set(DARK, 1.0)
    assert meters.grab().toImage() != before


def test_another_answers_timeline_takes_the_gaps_of_the_last_away(meters):
    meters.add_token_times([166 * MS, 171 * MS, 176 * MS])
    meters.set_timeline(TIMELINE)
    repaint(meters)
    assert meters._gaps.text.startswith("5.0 ms")
    meters.set_timeline(replace(TIMELINE, first_token_ns=500 * MS))
    repaint(meters)
    assert meters._gaps.text == "— decode 830 tok/s"
    assert meters._spread.text() == ""


def test_the_parts_show_with_the_first_token_and_grow_by_the_paint(meters):
    meters.start_answer()
    meters.set_first_token(replace(TIMELINE, first_paint_ns=None))
    assert "prefill 154 ms" in meters._ttft_bar.accessibleDescription()
    assert "first paint" not in meters._ttft_bar.accessibleDescription()
    meters.set_ttft(TIMELINE.first_token_ns - TIMELINE.sent_ns + 9 * MS)
    assert "first paint 9.0 ms" in meters._ttft_bar.accessibleDescription()
    meters.start_answer()
    meters.set_ttft(30 * MS)
    assert meters._ttft_bar.accessibleDescription() == ""
    assert meters._ttft.text == "30.0 ms"


def test_what_is_kept_for_reuse_counts_as_cache(meters):
    meters.set_model(MODEL)
    meters.set_stats(replace(STATS, kv_live_tokens=0, kv_live_blocks=0, kv_cached_blocks=2))
    repaint(meters)
    assert meters._kv.text == "720 KiB / 180 MiB 32 tok"


def test_an_empty_cache_does_not_count_in_the_budgets_unit(meters):
    meters.set_model(MODEL)
    empty = replace(STATS, kv_live_tokens=0, kv_live_blocks=0, kv_cached_blocks=0)
    meters.set_stats(replace(empty, kv_total_blocks=5_120))
    repaint(meters)
    assert meters._kv.text == "0 MiB / 1.8 GiB 0 tok"


def test_a_figure_that_changes_has_nothing_behind_the_page_painted(qtbot, meters):
    meters.set_model(MODEL)
    meters.set_stats(STATS)
    repaint(meters)
    qtbot.wait(1)
    painted = []

    class Paints(QObject):
        @override
        def eventFilter(self, watched, event):
            if event.type() is QEvent.Type.Paint:
                painted.append(watched)
            return False

    paints = Paints(meters)
    area = meters.findChild(QScrollArea)
    for behind in (meters, area, area.viewport(), area.widget()):
        behind.installEventFilter(paints)
    for n in range(101):
        meters.add_token_times([n * 5 * MS])
    repaint(meters)
    qtbot.waitUntil(lambda: bool(painted))
    assert set(painted) == {area.widget()}
    ground = area.widget().grab().toImage().pixelColor(1, 1)
    assert ground == meters.palette().color(QPalette.ColorRole.Window)
