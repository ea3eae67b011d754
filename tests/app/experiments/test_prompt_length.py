import pytest

from app.experiments import prompt_length
from app.experiments.prompt_length import lengths
from app.experiments.trials import AnswerSeen, Seen
from engine.api import Timeline


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [(64, 256, [64, 128, 256]), (64, 300, [64, 128, 256, 300]), (64, 64, [64]), (64, 32, [32])],
)
def test_lengths_double_up_to_the_end(first, last, found):
    assert lengths(first, last) == found


def line(tokens, ttft_ms):
    end = ttft_ms * 1_000_000
    return Timeline(0, 0, 0, 0, end, end, end, 0, tokens, 0, 1)


def test_the_cost_of_a_thousand_tokens_is_the_slope(subject):
    readings = ()
    for trial in prompt_length.plan(subject):
        tokens = int(trial.x) + 3
        seen = Seen((AnswerSeen((1,), line(tokens, tokens)),))
        readings += prompt_length.read(subject, trial, seen)
    found = prompt_length.findings(readings)
    assert found["growth_ms"] == pytest.approx(1_000)
    assert found["short_tokens"] == 67
    assert prompt_length.read(subject, trial, Seen((AnswerSeen(),))) == ()
