from app.experiments import answer_length
from app.experiments.trials import AnswerSeen, Seen

MS = 1_000_000


def test_a_growing_gap_is_found(subject):
    trial, *_again = answer_length.plan(subject)
    times, at = [], 0
    for token in range(1_000):
        at += (10 + token / 100) * MS
        times.append(round(at))
    found = answer_length.findings(
        answer_length.read(subject, trial, Seen((AnswerSeen(tuple(times)),)))
    )
    assert 10 < found["first_ms"] < 11
    assert 19 < found["last_ms"] < 20
    assert 1.7 < found["times"] < 2.0


def test_a_few_tokens_show_no_growth(subject):
    trial, *_again = answer_length.plan(subject)
    seen = Seen((AnswerSeen((0, MS, 2 * MS)),))
    assert answer_length.findings(answer_length.read(subject, trial, seen)) == {}
