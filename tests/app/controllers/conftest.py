"""A desk for each test: the whole window over a scripted engine, storage at once."""

import pytest

from tests.helpers.desk import Desk


@pytest.fixture
def make_desk(qtbot, isolated_home):
    made = []

    def make(script=None, options=None, *, has_model=True):
        desk = Desk(qtbot, isolated_home, script, options, has_model=has_model)
        made.append(desk)
        return desk

    yield make
    for desk in made:
        desk.close()


@pytest.fixture
def desk(make_desk):
    return make_desk().begin()
