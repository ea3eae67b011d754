"""Measured once, and again where what is kept does not serve."""

from dataclasses import replace

import pytest

from engine.roofline import measuring
from engine.roofline.ceilings import read_ceilings, write_ceilings
from engine.roofline.kept import ceilings_of
from tests.engine.roofline.test_ceilings import MADE_UP


@pytest.fixture
def measured(monkeypatch):
    """The threads each measurement was asked for."""
    asked = []

    def measure(threads):
        asked.append(threads)
        return replace(MADE_UP, threads=threads or 2)

    monkeypatch.setattr(measuring, "measure", measure)
    return asked


def test_measured_once(tmp_path, measured):
    path = tmp_path / "folder" / "roofline.json"
    first = ceilings_of(path)
    assert ceilings_of(path) == first == read_ceilings(path)
    assert measured == [None]


def test_other_threads_are_measured_anew(tmp_path, measured):
    path = tmp_path / "roofline.json"
    write_ceilings(MADE_UP, path)
    assert ceilings_of(path, threads=2) == MADE_UP
    assert ceilings_of(path, threads=7).threads == 7
    assert measured == [7]


def test_a_damaged_file_is_measured_anew(tmp_path, measured):
    path = tmp_path / "roofline.json"
    path.write_text("{", "utf-8")
    assert ceilings_of(path) == MADE_UP == read_ceilings(path)
    assert measured == [None]
