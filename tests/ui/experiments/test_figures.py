from dataclasses import replace
from pathlib import Path

from ui.charts.bars import BarChart
from ui.charts.lines import LineChart
from ui.experiments.rows import Shown


def test_charts_of_the_same_kinds_are_used_again(page, shown):
    figures = page.details.figures
    figures.show_figures(shown)
    before = figures.charts
    assert [type(chart) for chart in before] == [LineChart, BarChart]
    line, bars = shown.figures
    figures.show_figures(replace(shown, figures=(replace(line, title="Another"), bars)))
    assert figures.charts == before
    assert before[0].title == "Another"
    figures.show_figures(Shown("x", (bars,)))
    assert [type(chart) for chart in figures.charts] == [BarChart]


def test_two_stand_side_by_side_where_there_is_room(page, shown):
    figures = page.details.figures
    page.details.show_result(shown)
    page.resize(1400, 700)
    assert figures._columns == 2
    page.resize(700, 700)
    assert figures._columns == 1


def test_what_differs_is_a_table_of_its_own(page, shown, differences):
    figures = page.details.figures
    figures.show_figures(replace(shown, differences=differences))
    assert figures._differences.isVisibleTo(figures)
    assert figures._differences.item(0, 4).text() == "+20.0%"
    assert "What differs between the two runs" in figures.csv()


def test_several_charts_are_several_files(page, shown):
    figures = page.details.figures
    figures.show_figures(shown)
    names = [path.name for _chart, path in figures.files_for(Path("/x/run.png"))]
    assert names == ["run-1.png", "run-2.png"]
    figures.show_figures(Shown("x", shown.figures[:1]))
    assert [path.name for _chart, path in figures.files_for(Path("/x/run.png"))] == ["run.png"]
