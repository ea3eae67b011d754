"""A desk of which nothing is made that was not looked at."""

import pytest

from tests.helpers.desk import Desk


@pytest.fixture
def desk(qtbot, isolated_home):
    desk = Desk(qtbot, isolated_home, is_whole=False)
    desk.begin()
    desk.window.resize(1360, 860)
    desk.window.show()
    yield desk
    desk.close()
