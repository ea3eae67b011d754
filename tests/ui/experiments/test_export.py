import csv

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QFileDialog


@pytest.fixture
def button(page, shown):
    page.details.show_result(shown)
    return page.details.export


def test_pictures_and_drawings_are_one_a_chart(qtbot, button, tmp_path):
    for kind in ("png", "svg"):
        with qtbot.waitSignal(button.told) as told:
            button.write(str(tmp_path / f"run.{kind}"))
        assert told.args[0].endswith(f"run-1.{kind}, run-2.{kind}")
    assert not QImage(str(tmp_path / "run-1.png")).isNull()
    assert (tmp_path / "run-2.svg").read_text("utf-8").startswith("<?xml")


def test_values_are_one_file_that_spreadsheets_read(qtbot, button, tmp_path):
    with qtbot.waitSignal(button.told):
        button.write(str(tmp_path / "run.csv"))
    rows = list(csv.reader((tmp_path / "run.csv").read_text("utf-8-sig").splitlines()))
    assert rows[:3] == [["Time of each token"], ["Token", "Time (ms)"], ["1", "5"]]


def test_a_place_that_cannot_be_written_to_is_told(qtbot, button):
    for kind in ("csv", "svg", "png"):
        with qtbot.waitSignal(button.told) as told:
            button.write(f"/missing/run.{kind}")
        assert "could not be written" in told.args[0]


def test_asking_for_a_file_stops_nothing(qtbot, page, button, tmp_path):
    button.menu().actions()[2].trigger()
    (dialog,) = page.findChildren(QFileDialog)
    assert dialog.acceptMode() is QFileDialog.AcceptMode.AcceptSave
    with qtbot.waitSignal(button.told):
        dialog.fileSelected.emit(str(tmp_path / "run.csv"))
    assert (tmp_path / "run.csv").exists()
    dialog.close()
