"""The growth of a chat's cache as a figure."""

from dataclasses import replace

from ui.charts.figures import Point
from ui.inspector.cache.growth import growth_figure
from ui.inspector.cache.picture import Chat

MIB = 1 << 20


def test_the_line_where_it_is_and_the_budget(picture):
    figure = growth_figure(picture)
    line, now, budget = figure.series
    assert line.points == (Point(0, 0), Point(1_600, 100 * MIB))
    assert now.points == (Point(220, round(13.75 * MIB)),)
    assert budget.points == (Point(0, 100 * MIB), Point(1_600, 100 * MIB))
    assert [series.is_calculated for series in figure.series] == [True, False, True]
    assert "220 tokens now" in figure.sentence
    assert "budget is 100 MiB" in figure.sentence


def test_a_chat_that_was_not_begun(picture):
    figure = growth_figure(replace(picture, chat=Chat()))
    assert [series.name for series in figure.series] == ["this chat", "budget"]
    assert figure.sentence.startswith("A chat of 1,600 tokens")


def test_a_budget_far_above_the_line_is_said_and_not_drawn(picture):
    figure = growth_figure(replace(picture, context_length=200))
    assert [series.name for series in figure.series] == ["this chat", "now"]
    assert "budget is 100 MiB" in figure.sentence
