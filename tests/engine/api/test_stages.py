"""Stages of an answer, by a clock that tests can read."""

from dataclasses import replace
from itertools import pairwise

import pytest

from engine.api import Finished, GenerationRequest, Message, ModelOptions, SamplingParams
from engine.api.stages import STAGES, stages_of, total_ns
from engine.core import EngineCore
from tests.helpers.fake_model import FakeModels
from tests.helpers.fake_runner import FakeClock
from tests.helpers.observations import MS, make_timeline


def _line_of_an_answer():
    """Engine, template, tokenizer and detokenizer read one clock, a tick each time."""
    clock = FakeClock(1)
    models = FakeModels()

    def make_runner(model):
        run = models.make_runner(model)
        models.runner.clock = clock
        return run

    core = EngineCore(models.load, make_runner, clock)
    core.load(ModelOptions("fake.gguf"))
    sent = clock()
    params = SamplingParams(max_tokens=5, ignore_eos=True)
    core.submit(GenerationRequest("a", sent, params, messages=(Message("user", "hello"),)))
    events = []
    while core.has_work:
        events += core.step()
    (finished,) = (e for e in events if isinstance(e, Finished))
    return finished.timeline


def test_the_times_add_up_to_the_total() -> None:
    line = _line_of_an_answer()
    stages = stages_of(line)
    assert [stage.name for stage in stages] == list(STAGES)
    assert (
        sum(stage.duration_ns for stage in stages) == total_ns(line) == line.end_ns - line.sent_ns
    )
    named = {stage.name: stage for stage in stages}
    assert named["template"].duration_ns == 1
    assert named["tokenize"].duration_ns == 2  # the readings before and after the template's
    assert named["detokenize"].duration_ns == 6  # a tick a token, and one for what was held back
    assert all(duration >= 0 for stage in stages for _start, duration in stage.spans)


@pytest.mark.parametrize("queue", [0, 30])
@pytest.mark.parametrize("load", [0, 20])
def test_pieces_lie_end_to_end(queue: int, load: int) -> None:
    line = replace(make_timeline(queue=queue + load), load_wait_ns=load * MS)
    later = 5 * MS  # waits a second time, after its tokens are known
    moved = {
        name: getattr(line, name) + later
        for name in (
            "prefill_start_ns",
            "prefill_end_ns",
            "first_token_ns",
            "last_token_ns",
            "text_end_ns",
        )
    }
    line = replace(line, **moved)
    spans = sorted(span for stage in stages_of(line) for span in stage.spans if span[1])
    assert spans[0][0] == 0
    assert all(start + length == following for (start, length), (following, _) in pairwise(spans))
    assert sum(spans[-1]) == total_ns(line)
    named = {stage.name: stage for stage in stages_of(line)}
    assert named["queue"].duration_ns == line.queue_ns == queue * MS + later
    assert ("load" in named) == bool(load)


def test_a_timeline_of_an_earlier_version() -> None:
    """It knows nothing of text: all of it counts as tokenizer and decode."""
    old = replace(make_timeline(), template_ns=0, detokenize_ns=0, text_end_ns=None)
    stages = {stage.name: stage.duration_ns for stage in stages_of(old)}
    assert stages["template"] == stages["detokenize"] == 0
    assert sum(stages.values()) == old.last_token_ns - old.sent_ns
