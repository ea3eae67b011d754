"""How far the tokens are."""

import pytest

from ui.inspector.tokens.progress import ComputingBar


@pytest.fixture
def bar(qtbot):
    made = ComputingBar()
    qtbot.addWidget(made)
    return made


def test_an_estimate_is_marked(bar):
    bar.show_estimate(1234, waits=False)
    assert bar.text == "Computing ~1,234 tokens…"
    bar.show_estimate(1234, waits=True)
    assert bar.text == "~1,234 tokens are computed after the answer being written."
    bar.show_progress(1200, 600)
    assert bar.text == "Computing 1,200 tokens…"


def test_the_button_stops_and_begins_anew(bar):
    told = []
    bar.stop_wanted.connect(lambda: told.append("stop"))
    bar.start_wanted.connect(lambda: told.append("start"))
    bar.show_progress(10, 0)
    bar.button.click()
    bar.show_halted("Stopped.")
    assert bar.text == "Stopped."
    bar.button.click()
    assert told == ["stop", "start"]
