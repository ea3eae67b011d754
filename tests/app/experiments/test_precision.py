from dataclasses import replace

from app.experiments import precision
from app.experiments.trials import Depth, ProgramTrial, Seen

PRINTED = {
    "decode_tokens_per_s": 120.0,
    "prefill_tokens_per_s": 900.0,
    "weights_bytes": 90_000_000,
    "kv_bytes_per_token": 11_880,
}


def test_each_precision_is_a_load_of_its_own(subject):
    trials = precision.plan_weights(subject)
    assert [trial.label for trial in trials] == ["int4", "int8", "bf16", "fp32"]
    assert all("--weights" in trial.arguments for trial in trials)


def test_calibrated_weights_are_measured_where_they_are_there_already(subject):
    known = replace(subject, losses={"int4-calibrated": {}})
    labels = [trial.label for trial in precision.plan_weights(known)]
    assert labels == ["int4", "int4-calibrated", "int8", "bf16", "fp32"]


def test_what_was_measured_in_the_settings_is_not_measured_again(subject):
    known = replace(
        subject, depth=Depth.FULL, losses={"int4": {"top1_agreement": 0.93, "mean_kl": 0.02}}
    )
    evaluated = [t.label for t in precision.plan_weights(known) if t.series == precision.QUALITY]
    assert evaluated == ["int8", "bf16", "fp32"]
    (kept,) = precision.known_losses(known)
    assert kept.values["top1_agreement"] == 0.93


def test_the_narrowest_is_compared_with_the_widest(subject):
    readings = ()
    for trial, rate in zip(precision.plan_weights(subject), (120, 90, 50, 40), strict=True):
        seen = Seen(printed={**PRINTED, "decode_tokens_per_s": rate, "weights_bytes": rate})
        readings += precision.read_weights(subject, trial, seen)
    quality = ProgramTrial(precision.QUALITY, 0.0, (), "int4")
    printed = Seen(printed={"top1_agreement": 0.93, "mean_kl": 0.02})
    readings += precision.read_weights(subject, quality, printed)
    found = precision.findings(readings)
    assert found["times"] == 3.0
    assert found["agreement"] == 0.93
    assert (found["narrow"], found["wide"]) == (0.0, 4.0)


def test_a_cache_the_model_cannot_keep_is_left_to_its_own_trial(subject):
    int4, int8, *_rest = precision.plan_cache(subject)
    seen = Seen(printed={**PRINTED, "kv": "int8"})
    assert precision.read_cache(subject, int4, seen) == ()
    (reading,) = precision.read_cache(subject, int8, seen)
    assert reading.values["bytes"] == 11_880


def test_what_is_no_number_is_no_reading(subject):
    trial = precision.plan_weights(subject)[0]
    assert precision.read_weights(subject, trial, Seen(printed={"decode_tokens_per_s": "x"})) == ()
