"""The planner is asked while somebody looks, once for what changes meanwhile."""

from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, Signal

from app.controllers.outlook import Outlook, OutlookWatch, look
from engine.api import ModelOptions, Precision
from engine.errors import ModelCorruptError
from tests.helpers.desk import ImmediateTasks
from tests.helpers.fake_inspector import SHEET, FakeInspector, lines

pytestmark = pytest.mark.usefixtures("qapp")
OPTIONS = ModelOptions("/m/small.gguf")


class Model(QObject):
    """What the watch asks of the model's controller."""

    changed = Signal()
    is_loading = False
    wanted = OPTIONS
    bytes_to_free = 7


class LateTasks:
    """Runs a task when a test says so."""

    def __init__(self):
        self.waiting = []

    def run(self, work, on_done=None, on_error=None):
        self.waiting.append(lambda: ImmediateTasks("late").run(work, on_done, on_error))

    def play(self):
        self.waiting.pop(0)()


@pytest.fixture
def watch():
    model, inspector, tasks = Model(), FakeInspector(), LateTasks()
    return OutlookWatch(model, inspector, tasks, model), model, inspector, tasks


def test_a_look_plans_for_each_precision_with_the_settings():
    inspector = FakeInspector()
    options = replace(OPTIONS, context_length=4096)
    outlook = look(inspector, options, 7)
    assert [asked.weights for asked in inspector.asked] == list(outlook.lines)
    assert Precision.AUTO not in outlook.lines
    assert {asked.context_length for asked in inspector.asked} == {4096}
    assert inspector.freed == [7]
    assert outlook.key == ""  # no such file


@pytest.mark.parametrize(
    ("weights", "chosen"),
    [(Precision.AUTO, Precision.INT8), (Precision.BF16, Precision.BF16)],
)
def test_automatic_is_what_the_model_takes(weights, chosen):
    outlook = Outlook(replace(OPTIONS, weights=weights), SHEET, lines())
    assert outlook.chosen.precision is chosen


def test_a_load_waits_for_calibration_only_where_that_is_new():
    wanted = replace(OPTIONS, weights=Precision.INT4, calibrated=True)
    sheet = replace(SHEET, calibration_s=240.0)
    assert Outlook(wanted, sheet, lines()).waits_s == 240.0
    assert Outlook(wanted, replace(sheet, is_calibrated=True), lines()).waits_s is None
    assert Outlook(OPTIONS, sheet, lines()).waits_s is None


def test_nothing_is_asked_while_nobody_looks(watch):
    it, _, _, tasks = watch
    it.refresh()
    assert tasks.waiting == []
    it.set_watched(watched=True)
    assert len(tasks.waiting) == 1


def test_changes_during_a_question_are_one_more(watch):
    it, model, inspector, tasks = watch
    it.set_watched(watched=True)
    for context in (512, 1024, 2048):
        model.wanted = replace(OPTIONS, context_length=context)
        it.refresh()
    assert len(tasks.waiting) == 1
    tasks.play()
    assert it.outlook.options == OPTIONS
    tasks.play()
    assert it.outlook.options.context_length == 2048
    assert tasks.waiting == []
    assert inspector.freed == [7, 7]


def test_a_load_is_let_end_first(watch):
    it, model, _, tasks = watch
    model.is_loading = True
    it.set_watched(watched=True)
    assert tasks.waiting == []
    model.is_loading = False
    it.refresh()
    assert len(tasks.waiting) == 1


def test_without_a_model_there_is_nothing_to_see(watch):
    it, model, _, tasks = watch
    model.wanted = None
    it.set_watched(watched=True)
    assert tasks.waiting == []
    assert it.outlook is None
    assert it.problem is None


def test_a_model_that_cannot_be_read_is_a_problem_until_it_can(watch):
    it, _, inspector, tasks = watch
    inspector.problem = ModelCorruptError("Damaged.", path="m", reason="short")
    it.set_watched(watched=True)
    tasks.play()
    assert it.outlook is None
    assert it.problem is inspector.problem
    inspector.problem = None
    it.refresh()
    tasks.play()
    assert it.outlook is not None
    assert it.problem is None
