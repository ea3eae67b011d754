import pytest

from ui.widgets.about_time import about_time


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "~1 s"), (42, "~42 s"), (60, "~1 min"), (200, "~3 min"), (5400, "~1.5 h")],
)
def test_one_rounded_figure(seconds, words):
    assert about_time(seconds) == words
