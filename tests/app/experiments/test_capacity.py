from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.experiments import capacity
from app.experiments.trials import Depth, Reading, Seen, Subject
from engine.api import ModelOptions
from tests.helpers.fake_engine import model_info


@given(st.integers(1, 4_096), st.integers(1, 600))
def test_as_many_fit_as_the_blocks_allow(tokens, blocks):
    info = model_info(ModelOptions("m.gguf"), 4_096)
    size = info.kv_bytes_per_token * info.kv_block_size
    subject = Subject(replace(info, kv_budget_bytes=blocks * size))
    count = capacity.fitting(subject, tokens)
    each = -(-tokens // info.kv_block_size)
    # one block more for each that runs already
    assert count * each + max(0, count - 1) <= blocks or count == 0
    more = count + 1
    assert count == 32 or more * each + more - 1 > blocks


def test_only_lengths_with_an_answer_that_waits_are_tried(subject):
    trials = capacity.plan(subject)
    assert trials
    for trial in trials:
        assert trial.until_admitted
        assert len(trial.asks) > capacity.fitting(subject, int(trial.x))
    cheap = sum(trial.x * capacity.fitting(subject, int(trial.x)) for trial in trials)
    full = capacity.plan(replace(subject, depth=Depth.FULL))
    assert cheap <= 8_192
    assert len(full) >= len(trials)


def test_the_check_is_compared_with_the_calculation(subject):
    readings = capacity.calculated(subject)
    first = next(r for r in readings if r.values["streams"] < 32)
    seen = Seen(most_running=int(first.values["streams"]) - 1)
    (trial, *_rest) = capacity.plan(subject)
    measured = capacity.read(subject, replace(trial, x=first.x), seen)
    found = capacity.findings(readings + measured)
    assert found["off"] == 1.0
    assert found["short_streams"] >= found["long_streams"]
    assert capacity.read(subject, trial, Seen()) == ()
    assert "off" not in capacity.findings(readings)
    assert isinstance(readings[0], Reading)
