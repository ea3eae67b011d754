"""What kinds of cache lose, read from kept experiments."""

import pytest

from app.controllers.inspector.kv_quality import KVLoss, KVQuality, losses_in
from app.experiments.kept import write_run
from app.experiments.runs import Run, Setting
from app.experiments.trials import Reading
from engine.api import ModelOptions
from tests.helpers.desk import ImmediateTasks
from tests.helpers.fake_engine import model_info


def make_run(run_id="1", experiment="kv", model="Small", agreement=0.987):
    setting = Setting("A processor", 2, model, "int4", "float32", 2_048)
    readings = (
        Reading("speed", 1.0, {"decode_rate": 30.0}, "int8"),
        Reading("quality", 1.0, {"top1_agreement": agreement, "mean_kl": 0.0042}, "int8"),
        Reading("quality", 3.0, {"top1_agreement": 1.0, "mean_kl": 0.0}, "fp32"),
        Reading("quality", 0.0, {"top1_agreement": 0.9}, "int4"),  # half a measurement
    )
    return Run(run_id, experiment, "full", "2026-01-01T00:00:00Z", setting, readings)


def test_the_latest_run_of_the_model_counts():
    runs = [make_run("2", agreement=0.9), make_run("1")]
    assert losses_in(runs, "Small", "int4") == {
        "int8": KVLoss(0.9, 0.0042),
        "fp32": KVLoss(1.0, 0.0),
    }


@pytest.mark.parametrize(
    "run", [make_run(model="Large"), make_run(experiment="weights")], ids=["model", "experiment"]
)
def test_other_runs_do_not_count(run):
    assert losses_in([run], "Small", "int4") == {}
    assert losses_in([make_run()], "Small", "int8") == {}


def test_in_words():
    assert KVLoss(0.987, 0.0042).words == "98.7% same token · KL 0.004"
    assert KVLoss(0.9999, 0.0).words.startswith("99.9%")
    assert KVLoss(1.0, 0.0).words.startswith("100%")


def test_they_are_read_when_told_to(qapp, tmp_path):
    assert qapp
    quality = KVQuality(tmp_path, ImmediateTasks("catalog"))
    info = model_info(ModelOptions("/m/Small.gguf"))
    write_run(tmp_path, make_run())
    assert quality.of(info) == {}
    told = []
    quality.changed.connect(lambda: told.append(True))
    quality.refresh()
    assert told == [True]
    assert quality.of(info)["int8"] == KVLoss(0.987, 0.0042)
