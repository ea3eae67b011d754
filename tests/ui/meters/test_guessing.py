from dataclasses import replace

import pytest

from engine.api import TokensProduced
from tests.helpers.sample_engine import MODEL, TIMELINE, stats
from ui.meters.guessing import GuessMeter
from ui.theme import ThemeSource

GUESSED = replace(TIMELINE, num_drafted_tokens=50, num_accepted_tokens=31, plain_step_ns=9_000_000)


@pytest.fixture
def meter(qtbot):
    meter = GuessMeter(ThemeSource())
    qtbot.addWidget(meter)
    return meter


def test_it_is_there_only_where_something_guesses(meter):
    meter.set_model(MODEL)
    assert meter.isHidden()
    meter.set_model(replace(MODEL, draft="ngram"))
    assert not meter.isHidden()


def test_acceptance_steps_and_gain(meter):
    meter.set_timeline(GUESSED)
    assert "62 %" in meter.text
    assert "1.60 tokens a step" in meter.text  # 83 decoded tokens in 52 steps
    assert "31 of 50 guesses right" in meter.text
    # 83 tokens in 434 ms, and 9 ms a plain step
    assert "~1.72 times the speed of steps without guesses (~9.0 ms each)" in meter.text


def test_while_it_streams_it_counts_and_says_when_it_rests(meter):
    meter.start_answer()
    meter.add_tokens(TokensProduced("r", "ab", (1, 2, 3), (1, 1, 1), num_accepted=2))
    meter.set_stats(stats(is_guessing_at_rest=True))
    assert "2 of 3 tokens were guessed" in meter.text
    assert "resting" in meter.text
    meter.set_stats(stats())
    assert "resting" not in meter.text
