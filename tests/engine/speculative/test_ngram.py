"""Guesses by looking up the last tokens in what is known."""

import random

from engine.api import SamplingParams
from engine.scheduling.drafting import DraftQuery
from engine.speculative.ngram import NgramDrafter


def _query(known, most=4, request_id="a"):
    return DraftQuery(request_id, known, SamplingParams(), 0, 0, most)


def _guess(known, most=4):
    return NgramDrafter().propose([_query(known, most)])[0]


def test_an_ending_seen_before_is_continued_as_it_went_on():
    assert _guess([1, 2, 3, 4, 5, 6, 9, 1, 2, 3], 3) == (4, 5, 6)


def test_the_latest_occurrence_decides():
    assert _guess([1, 2, 7, 1, 2, 8, 1, 2], 1) == (8,)


def test_the_longest_match_decides():
    assert _guess([5, 1, 2, 3, 40, 9, 1, 2, 3, 50, 5, 1, 2, 3], 1) == (40,)


def test_a_loop_goes_on_into_its_own_guesses():
    assert _guess([7, 8, 7, 8], 5) == (7, 8, 7, 8, 7)


def test_no_more_guesses_than_asked_for_and_none_without_a_match():
    assert _guess([1, 2, 3, 4, 1, 2], 1) == (3,)
    assert _guess([1, 2, 3, 4, 1, 2], 0) == ()
    assert _guess([1, 2, 3, 4]) == ()
    assert _guess([1]) == ()


def test_growing_step_by_step_guesses_like_a_fresh_look():
    draw = random.Random(5)
    known: list[int] = [draw.randrange(4)]
    drafter = NgramDrafter()
    for _ in range(200):
        known.append(draw.randrange(4))
        assert drafter.propose([_query(known)]) == [_guess(known)]


def test_requests_do_not_mix_and_can_be_forgotten():
    drafter = NgramDrafter()
    first, second = _query([1, 2, 3, 1, 2]), _query([1, 2, 4, 1, 2], request_id="b")
    assert [g[0] for g in drafter.propose([first, second])] == [3, 4]
    drafter.forget("a")
    drafter.forget("unknown")
    assert drafter.propose([_query([1, 2, 9, 1, 2], 1)]) == [(9,)]
