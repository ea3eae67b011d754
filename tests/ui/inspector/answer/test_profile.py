"""The section that looks into the model."""

import pytest

from tests.ui.inspector.answer.test_passes import PROFILE
from ui.inspector.answer.profile import ProfileSection
from ui.theme import ThemeSource


@pytest.fixture
def section(qtbot):
    made = ProfileSection(ThemeSource())
    qtbot.addWidget(made)
    made.show()
    return made


def test_a_button_asks_and_rests_while_the_model_runs(section, qtbot):
    with qtbot.waitSignal(section.wanted):
        section._button.click()
    section.show_running()
    assert not section._button.isEnabled()
    assert section.text == "The model runs\u2026"


def test_a_profile_is_drawn_said_and_listed(section):
    section.show_profile(PROFILE)
    assert section.decode.isVisible()
    assert section.prefill.isVisible()
    assert len(section.table.rows) == 7  # the headings first
    assert "70% of it FFN" in section.text
    assert section.text.endswith("16 steps.")
    section.clear()
    assert not section.decode.isVisible()
    assert section.text == ""


def test_one_that_was_given_up_is_told(section):
    section.show_problem()
    assert section.text.endswith("Ask again.")
