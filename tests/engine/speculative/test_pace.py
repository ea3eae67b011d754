"""The number of guesses follows what steps cost and how often guesses were right."""

import pytest

from engine.api import SamplingParams
from engine.scheduling.drafting import Drafter, DraftQuery
from engine.speculative.pace import SpeculationPace
from engine.speculative.speculation import Speculation


def _learn(pace, *, base, slope, rows=(1, 4, 1, 8, 1, 2)):
    for count in rows:
        pace.note_step(count, base + slope * count)


def test_nothing_is_guessed_before_a_step_was_seen():
    assert SpeculationPace().lengths(("a", "b")) == [0, 0]
    assert SpeculationPace().lengths(()) == []


def test_free_rows_and_right_guesses_make_long_drafts():
    pace = SpeculationPace()
    _learn(pace, base=1_000_000, slope=0)
    for _ in range(20):
        pace.note_outcome("a", 4, 4)
    assert pace.lengths(("a",)) == [16]


def test_rows_that_cost_as_much_as_a_step_are_not_worth_a_guess():
    pace = SpeculationPace()
    _learn(pace, base=0, slope=1_000_000)
    assert pace.lengths(("a",)) == [0]


def test_wrong_guesses_turn_it_off_and_time_brings_hope_back():
    pace = SpeculationPace()
    _learn(pace, base=700_000, slope=300_000)
    assert pace.lengths(("a",))[0] > 0
    for _ in range(30):
        pace.note_outcome("a", 2, 0)
    assert pace.lengths(("a",)) == [0]
    assert any(pace.lengths(("a",))[0] for _ in range(200))
    assert pace.counts("a") == (60, 0)


def test_a_costly_draft_model_shortens_drafts():
    cheap, dear = SpeculationPace(), SpeculationPace()
    for pace in (cheap, dear):
        _learn(pace, base=1_000_000, slope=50_000)
    for _ in range(60):
        dear.note_drafting(1, 400_000)
    assert dear.lengths(("a",))[0] < cheap.lengths(("a",))[0]


@pytest.mark.parametrize("acceptance", [0.2, 0.5, 0.8])
def test_the_length_is_the_one_of_the_highest_expected_speed(acceptance):
    base, slope = 900_000.0, 100_000.0
    pace = SpeculationPace()
    _learn(pace, base=base, slope=slope)
    for _ in range(400):
        # a fading mean of right and wrong settles near the rate
        pace.note_outcome("a", 1, 1)
        pace._records["a"].acceptance = acceptance

    def speed(length):
        tokens = sum(acceptance**j for j in range(length + 1))
        return tokens / (base + slope * (length + 1))

    best = max(range(17), key=speed)
    assert pace.lengths(("a",)) == [best]


def test_requests_are_judged_apart_and_forgotten():
    pace = SpeculationPace()
    _learn(pace, base=700_000, slope=300_000)
    for _ in range(30):
        pace.note_outcome("bad", 2, 0)
        pace.note_outcome("good", 2, 2)
    lengths = dict(zip(("bad", "good"), pace.lengths(("bad", "good")), strict=True))
    assert lengths["bad"] == 0
    assert lengths["good"] > 0
    pace.forget("bad")
    assert pace.counts("bad") == (0, 0)


def test_the_plain_step_is_known_from_the_line():
    pace = SpeculationPace()
    assert pace.plain_step_ns() is None
    _learn(pace, base=700_000, slope=300_000)
    assert pace.plain_step_ns() == pytest.approx(1_000_000)


class Nothing(Drafter):
    def propose(self, queries):
        return [() for _ in queries]

    def forget(self, request_id):
        pass


def _query(request_id):
    return DraftQuery(request_id, [1, 2], SamplingParams(), 0, 1, 8)


def test_speculation_says_when_guesses_rest_and_what_a_plain_step_costs():
    pace = SpeculationPace()
    speculation = Speculation(Nothing(), pace)
    speculation.drafts([_query("a")])
    assert not speculation.is_at_rest, "nothing is known yet"
    assert speculation.plain_step_ns() is None
    _learn(pace, base=0, slope=1_000_000)
    speculation.drafts([_query("a")])
    assert speculation.is_at_rest
    assert speculation.plain_step_ns() == pytest.approx(1_000_000)
    _learn(pace, base=9_000_000, slope=0, rows=(1, 2) * 40)
    speculation.drafts([_query("b")])
    assert not speculation.is_at_rest
