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
