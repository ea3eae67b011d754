"""Each experiment's plan suits the model, and its readings lead to findings."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.experiments.catalogue import BY_NAME, EXPERIMENTS
from app.experiments.trials import Depth, EngineTrial, ProgramTrial, Subject
from engine.api import ModelOptions
from engine.cli.arguments import parse
from tests.helpers.fake_engine import model_info

# about what a small model reads in a minute on a laptop: 1,000 prompt tokens a second
MINUTE = 60_000


def test_there_are_nine_under_names_of_their_own():
    assert len(EXPERIMENTS) == len(BY_NAME) == 9


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
@given(context=st.sampled_from([64, 256, 512, 1_000, 2_048, 8_192, 131_072]), data=st.data())
def test_no_prompt_with_its_answer_is_longer_than_the_context(experiment, context, data):
    depth = data.draw(st.sampled_from(list(Depth)))
    draft = data.draw(st.sampled_from(["", "ngram"]))
    info = replace(model_info(ModelOptions("m.gguf"), context), draft=draft)
    for trial in experiment.plan(Subject(info, depth)):
        assert trial.cost > 0
        if isinstance(trial, EngineTrial):
            assert trial.asks
            for ask in trial.asks:
                assert ask.prompt_tokens >= 1
                assert ask.new_tokens >= 1
                assert ask.prompt_tokens + ask.new_tokens <= context


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_a_quick_run_takes_about_a_minute(experiment, subject):
    trials = experiment.plan(subject)
    assert sum(trial.cost for trial in trials) <= MINUTE
    assert len(trials) <= 16


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
@pytest.mark.parametrize("depth", list(Depth))
def test_the_engine_takes_every_command(experiment, depth, subject):
    for trial in experiment.plan(replace(subject, depth=depth)):
        if isinstance(trial, ProgramTrial):
            options = parse(trial.arguments)
            assert options.json


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda e: e.name)
def test_nothing_follows_from_nothing(experiment):
    assert experiment.findings(()) == {}
