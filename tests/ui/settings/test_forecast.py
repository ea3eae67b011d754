import pytest

from engine.api import Fit
from ui.settings.forecast import Forecast, ForecastLine
from ui.theme import DARK, ThemeSource


@pytest.fixture
def line(qtbot):
    line = ForecastLine(ThemeSource())
    qtbot.addWidget(line)
    return line


def test_hidden_until_there_is_something_to_say(line):
    assert line.isHidden()
    assert line.text == line.wait == ""
    line.set_forecast(Forecast(Fit.FITS, "Fits.", "Others hold 4 GiB.", "~4 min, once."))
    assert not line.isHidden()
    assert (line.text, line.wait) == ("Fits.", "~4 min, once.")
    assert line.toolTip() == line.accessibleDescription() == "Others hold 4 GiB."
    line.set_forecast(None)
    assert line.isHidden()
    assert line.text == ""


def test_the_verdict_is_seen_without_its_colour(line):
    icons = []
    for fit in Fit:
        line.set_forecast(Forecast(fit, fit.value))
        assert line._wait.isHidden()
        icons.append(line._icon.pixmap().toImage())
    assert icons[0] != icons[1] != icons[2] != icons[0]
    line.set_forecast(Forecast(None, "Working it out…"))
    assert line._icon.pixmap().toImage() not in icons
    line.set_forecast(Forecast(Fit.TOO_LARGE, "Too large."))
    line._themes.set(DARK, 2.0)
    assert line._icon.pixmap().toImage() != icons[2]
