import csv
import io

from ui.charts.chart_table import ChartTable
from ui.charts.figures import Axis, Bar, BarFigure, BarSeries, Kind
from ui.charts.tables import csv_text, table_of_bars, table_of_lines


def test_a_line_figure_has_a_column_for_each_series(two_lines):
    table = table_of_lines(two_lines)
    assert table.headings == ("Token", "with the cache (ms)", "without the cache (ms)")
    assert table.titles == ("Token", "with the cache", "without the cache")
    assert table.rows[1] == ("8", "7.1 ms", "15.0 ms (14.0 ms to 17.0 ms)")
    assert table.values[1] == ("8", "7.08", "15")


def test_what_was_not_measured_stays_empty():
    figure = BarFigure(
        "Memory",
        Axis("Memory", Kind.BYTES),
        ("INT4", "FP32"),
        (BarSeries("", (Bar(1024.0), None), is_calculated=True),),
    )
    table = table_of_bars(figure)
    assert table.headings == ("", "Memory (B)")
    assert table.titles == ("", "Memory")  # each cell has its own unit
    assert table.rows == (("INT4", "~1 KiB"), ("FP32", ""))


def test_values_go_to_other_programs_as_plain_numbers(two_lines):
    text = csv_text([("Time", table_of_lines(two_lines)), ("Again", table_of_lines(two_lines))])
    rows = list(csv.reader(io.StringIO(text)))
    assert rows[0] == ["Time"]
    assert float(rows[2][1]) == 7.01
    assert ["Again"] in rows


def test_the_widget_holds_the_same_cells(qtbot, two_lines):
    table = ChartTable("Time of each token")
    qtbot.addWidget(table)
    table.set_table(table_of_lines(two_lines))
    table.show()
    assert table.accessibleName() == "Time of each token"
    assert table.item(1, 2).text() == "15.0 ms (14.0 ms to 17.0 ms)"
    assert table.rowCount() == 10
    assert table.height() > 10 * 10
