"""Drafter and pace together: as many guesses as pay, and a drafter that fails harms no answer."""

import pytest

from engine.api import SamplingParams
from engine.errors import EngineError
from engine.scheduling.drafting import DraftQuery
from engine.speculative.ngram import NgramDrafter
from engine.speculative.pace import SpeculationPace
from engine.speculative.speculation import Speculation
from tests.helpers.fake_runner import FakeClock


class Broken(NgramDrafter):
    def __init__(self, error):
        super().__init__()
        self.error = error
        self.num_asked = 0

    def propose(self, _queries):
        self.num_asked += 1
        raise self.error


def query(known, most=9, request_id="a"):
    return DraftQuery(request_id, known, SamplingParams(), 0, 0, most)


def speculation(drafter):
    pace = SpeculationPace()
    pace.note_step(1, 1_000_000)
    return Speculation(drafter, pace, FakeClock(step_ns=10))


def test_guesses_are_as_many_as_pay_and_as_may_be():
    guesser = speculation(NgramDrafter())
    first, second = guesser.drafts([query([1, 2, 3] * 4), query([1, 2, 3] * 4, 1, "b")])
    assert len(first) > 1
    assert second == (1,)
    assert not guesser.is_at_rest


@pytest.mark.parametrize(
    "error",
    [RuntimeError("DefaultCPUAllocator: not enough memory"), EngineError("No."), MemoryError()],
)
def test_a_drafter_that_fails_is_given_up_and_says_so(error, logfail):
    drafter = Broken(error)
    guesser = speculation(drafter)
    logfail.expect("Guessing ahead failed and is given up")
    assert guesser.drafts([query([1, 2] * 4), query([3, 4], 2, "b")]) == [(), ()]
    assert guesser.is_at_rest
    assert guesser.drafts([query([1, 2] * 4)]) == [()]
    assert drafter.num_asked == 1
    assert guesser.is_at_rest
    guesser.forget("a")


class Recording(SpeculationPace):
    def __init__(self):
        super().__init__()
        self.rounds = []

    def note_round(self, num_requests, num_drafted, num_right, ns):
        self.rounds.append((num_requests, num_drafted, num_right, ns))


def test_a_round_is_its_step_its_outcomes_and_the_time_guesses_took():
    pace = Recording()
    pace.note_step(1, 1_000_000)
    guesser = Speculation(NgramDrafter(), pace, FakeClock(step_ns=10))
    assert any(guesser.drafts([query([1, 2, 3] * 4, 2), query([7, 8, 9], 2, "b")]))
    guesser.note_step(4, 5_000)
    guesser.note_outcome("a", 2, 1)
    assert pace.rounds == [], "more outcomes may follow"
    guesser.drafts([query([7, 8, 9], 2, "b")])
    assert pace.rounds == [(2, 2, 1, 5_010)]
    guesser.note_step(1, 4_000)
    guesser.note_step(1, 3_000)
    assert pace.rounds[1:] == [(1, 0, 0, 4_000)], "nothing was guessed, nothing is charged"


def test_outcomes_beside_a_prompt_are_no_round():
    pace = Recording()
    guesser = Speculation(NgramDrafter(), pace)
    guesser.note_outcome("a", 2, 1)
    guesser.drafts([query([1, 2], 2)])
    assert pace.rounds == []
    assert pace.counts("a") == (2, 1)
