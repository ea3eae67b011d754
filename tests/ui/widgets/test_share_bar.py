"""A bar that is filled to a part."""

import pytest
from PySide6.QtGui import QColor

from ui.theme import LIGHT, ThemeSource
from ui.widgets.share_bar import ShareBar


@pytest.fixture
def bar(qtbot):
    made = ShareBar(ThemeSource())
    qtbot.addWidget(made)
    made.resize(100, 5)
    return made


def test_it_is_filled_as_far_as_told(bar):
    bar.set_share(0.5, is_strong=True)
    image = bar.grab().toImage()
    assert image.pixelColor(40, 2) == QColor(LIGHT.accent)
    assert image.pixelColor(60, 2) == QColor(LIGHT.track)


@pytest.mark.parametrize(("told", "shown"), [(-1.0, 0.0), (0.3, 0.3), (7.0, 1.0)])
def test_it_stays_within_itself(bar, told, shown):
    bar.set_share(told)
    assert bar.share == shown
    assert not bar.grab().isNull()
