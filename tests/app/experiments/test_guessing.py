from dataclasses import replace

from app.experiments import guessing
from app.experiments.trials import AnswerSeen, EngineTrial, ProgramTrial, Seen, Text

MS = 1_000_000


def test_with_a_draft_the_loaded_model_answers_both_ways(subject):
    drafting = replace(subject, info=replace(subject.info, draft="ngram"))
    trials = guessing.plan(drafting)
    assert all(isinstance(trial, EngineTrial) for trial in trials)
    kinds = {(t.asks[0].text, t.asks[0].guess_ahead) for t in trials}
    assert kinds == {(text, ahead) for text in Text for ahead in (True, False)}
    slow = Seen((AnswerSeen(tuple(n * 10 * MS for n in range(9))),))
    fast = Seen((AnswerSeen(tuple(n * 5 * MS for n in range(9))),))
    readings = ()
    for trial in trials:
        is_ahead = trial.series == guessing.AHEAD
        readings += guessing.read(drafting, trial, fast if is_ahead else slow)
    assert guessing.findings(readings) == {"repeating": 2.0, "prose": 2.0}


def test_without_one_a_program_tries_ngrams(subject):
    (trial,) = guessing.plan(subject)
    assert isinstance(trial, ProgramTrial)
    printed = {
        "decode_tokens_per_s": 100.0,
        "guessing_decode_tokens_per_s": 150.0,
        "acceptance": 0.6,
    }
    readings = guessing.read(subject, trial, Seen(printed=printed))
    assert guessing.findings(readings) == {"ngrams": 1.5}
    assert readings[1].values[guessing.ACCEPTED] == 0.6
    assert guessing.read(subject, trial, Seen(printed={})) == ()
