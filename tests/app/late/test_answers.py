"""What shows answers is there soon after the first paint."""

import sys

from app.late.answers import ANSWERS, steps_to_answers


def test_all_that_is_named_can_be_imported():
    steps = len(list(steps_to_answers()))
    assert steps > 3
    assert "ui.chat.assistant_item" in sys.modules


def test_it_comes_by_itself(desk):
    desk.wait(lambda: desk.application.parts.is_made(ANSWERS))
