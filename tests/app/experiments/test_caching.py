from app.experiments import caching
from app.experiments.trials import AnswerSeen, Seen

MS = 1_000_000


def seen(gap_ms, count=200):
    times, at = [], 0
    for token in range(count):
        at += round(gap_ms(token) * MS)
        times.append(at)
    return Seen((AnswerSeen(tuple(times)),))


def test_without_the_cache_the_total_grows_with_the_square(subject):
    kept, anew = caching.plan(subject)
    assert [trial.asks[0].kv_cache for trial in (kept, anew)] == [True, False]
    readings = caching.read(subject, kept, seen(lambda _token: 5.0))
    readings += caching.read(subject, anew, seen(lambda token: 5.0 + token))
    found = caching.findings(readings)
    assert found["tokens"] > 190
    assert abs(found["kept_ms"] - 5 * (found["tokens"] - 1)) < 1e-6
    assert 15 < found["times"] < 25
    assert len(readings) <= 2 * 40


def test_what_only_one_way_measured_is_no_comparison(subject):
    kept, _anew = caching.plan(subject)
    readings = caching.read(subject, kept, seen(lambda _token: 5.0))
    assert caching.findings(readings) == {}
