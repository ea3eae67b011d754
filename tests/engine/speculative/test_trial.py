"""Whether guessing pays is judged by what steps took, and by nothing else."""

import random
from dataclasses import dataclass

import pytest

from engine.speculative.pace import SpeculationPace
from engine.speculative.trial import Trial

PLAIN = 1_000_000.0


def _guess(trial, tokens, ns, times):
    """So many steps, each with guesses where the trial wants them; returns how many had some."""
    count = 0
    for _ in range(times):
        if trial.wants_guesses:
            trial.note_guessed(tokens, ns)
            count += 1
        else:
            trial.note_plain(PLAIN)
    return count


def test_nothing_is_judged_before_both_kinds_were_seen():
    trial = Trial()
    assert trial.gain() is None
    for _ in range(40):
        trial.note_guessed(1.0, 9 * PLAIN)
    assert trial.gain() is None
    assert not trial.is_at_rest


def test_steps_without_guesses_are_taken_for_reference_and_less_often_once_guesses_pay():
    trial = Trial()
    first = _guess(trial, 2.0, PLAIN, 100)
    later = _guess(trial, 2.0, PLAIN, 100)
    assert 70 <= first < later
    assert later >= 94
    assert not trial.is_at_rest


def test_the_gain_is_that_of_tokens_a_time():
    trial = Trial()
    draw = random.Random(3)
    for _ in range(11):
        trial.note_plain(PLAIN * draw.uniform(0.9, 1.1))
        trial.note_guessed(draw.choice([1, 1, 2, 4]), 1.25 * PLAIN * draw.uniform(0.9, 1.1))
    trial.note_guessed(2, 1.25 * PLAIN)
    least, likely, most = trial.gain()
    assert least < likely < most
    assert least < 1.6 < most  # 2 tokens in 1.25 times the time
    assert likely == pytest.approx(1.6, rel=0.3)


def test_a_clear_loss_ends_the_trial_soon_and_rests_grow():
    trial = Trial()
    trials = []
    for _ in range(4):
        trials.append(_step_until(trial, 1.0, 1.3 * PLAIN, is_at_rest=True))
        rest = _step_until(trial, 1.0, 1.3 * PLAIN, is_at_rest=False)
        trials[-1] = (trials[-1], rest)
    assert all(tried <= 24 for tried, _ in trials)
    assert [rest for _, rest in trials] == [64, 128, 256, 512]


def _step_until(trial, tokens, ns, *, is_at_rest):
    count = 0
    while trial.is_at_rest is not is_at_rest:
        _guess(trial, tokens, ns, 1)
        count += 1
        assert count < 10_000
    return count


def test_a_loss_of_four_percent_ends_it_too():
    draw = random.Random(5)
    trial = Trial()
    steps = 0
    while not trial.is_at_rest:
        noise = draw.lognormvariate(0, 0.1)
        if trial.wants_guesses:
            trial.note_guessed(draw.choice([1, 1, 2, 2]), 1.5 / 0.96 * PLAIN * noise)
        else:
            trial.note_plain(PLAIN * noise)
        steps += 1
        assert steps < 600


def test_a_new_request_shortens_the_rest():
    trial = Trial()
    for _ in range(3):
        _step_until(trial, 1.0, 1.3 * PLAIN, is_at_rest=True)
        _step_until(trial, 1.0, 1.3 * PLAIN, is_at_rest=False)
    _step_until(trial, 1.0, 1.3 * PLAIN, is_at_rest=True)
    trial.welcome()
    assert _step_until(trial, 1.0, 1.3 * PLAIN, is_at_rest=False) <= 64


def test_one_step_that_another_program_held_up_decides_nothing():
    trial = Trial()
    _guess(trial, 1.3, PLAIN, 60)
    trial.note_guessed(1.3, 500 * PLAIN)
    _guess(trial, 1.3, PLAIN, 40)
    assert not trial.is_at_rest


# ---------------------------------------------------------------------- with forecasts
@dataclass
class Machine:
    """Steps of base + slope x rows, and ``hidden`` for any guess at all, in ns."""

    acceptance: float
    base: float = 900_000.0
    slope: float = 100_000.0
    hidden: float = 0.0
    draft: float = 0.0
    seed: int = 1

    def gain(self, pace, steps, request="a"):
        """The speed of ``steps`` steps over that of as many without guesses."""
        draw = random.Random(self.seed)
        time = tokens = 0.0
        for _ in range(steps):
            length = pace.lengths((request,))[0]
            right = 0
            while right < length and draw.random() < self.acceptance:
                right += 1
            ns = self.base + self.slope * (1 + length) + (self.hidden if length else 0)
            ns *= draw.lognormvariate(0, 0.08)
            pace.note_step(1 + length, ns)
            if length:
                pace.note_drafting(length, self.draft * length)
                pace.note_outcome(request, length, right)
            ns += self.draft * length
            pace.note_round(1, length, right, ns)
            time, tokens = time + ns, tokens + 1 + right
        return tokens * (self.base + self.slope) / time


@pytest.mark.parametrize("seed", range(4))
def test_what_forecasts_do_not_see_costs_little(seed):
    machine = Machine(0.4, hidden=420_000, seed=seed)  # a loss of some 5 %
    pace = SpeculationPace()
    machine.gain(pace, 400)
    assert machine.gain(pace, 2_000) > 0.98
    assert pace.is_at_rest or machine.gain(pace, 200) > 0.95


@pytest.mark.parametrize("seed", range(4))
def test_guesses_that_are_never_right_cost_next_to_nothing(seed):
    machine = Machine(0.0, base=700_000, slope=300_000, seed=seed)
    pace = SpeculationPace()
    machine.gain(pace, 200)
    assert machine.gain(pace, 2_000) > 0.985


@pytest.mark.parametrize(("acceptance", "least"), [(0.8, 2.1), (0.5, 1.3)])
def test_what_pays_goes_on(acceptance, least):
    assert Machine(acceptance).gain(SpeculationPace(), 1_000) > least


def test_a_text_that_begins_to_repeat_itself_is_found_out():
    pace = SpeculationPace()
    Machine(0.0, base=700_000, slope=300_000).gain(pace, 300)
    assert pace.is_at_rest
    assert Machine(0.9).gain(pace, 600, "b") > 1.5
    assert not pace.is_at_rest


def test_batches_of_other_sizes_are_judged_apart():
    pace = SpeculationPace()
    Machine(0.0, base=700_000, slope=300_000).gain(pace, 300)
    assert pace.lengths(("a",)) == [0]
    assert any(pace.lengths(("c", "d")))
