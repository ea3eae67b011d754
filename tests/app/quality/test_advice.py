"""What is recommended, and how long measuring takes."""

from dataclasses import replace

import pytest

from app.quality.advice import Candidate, measuring_s, recommended
from app.quality.loss import Loss
from engine.api import Fit
from tests.helpers.fake_inspector import SHEET

GOOD = Loss(28.4, 992, 0.95, 0.005, 28.1, 60.0, 100_000_000)
BAD = replace(GOOD, top1_agreement=0.85)
NAMES = ("int4", "int4-calibrated", "int8", "bf16", "fp32")


def candidates(fits="FFFFF", **losses):
    kinds = {"F": Fit.FITS, "T": Fit.TIGHT, "L": Fit.TOO_LARGE}
    return [
        Candidate(name, kinds[fit], losses.get(name.replace("-", "_")))
        for name, fit in zip(NAMES, fits, strict=True)
    ]


@pytest.mark.parametrize(
    ("fits", "losses", "advised"),
    [
        ("FFFFF", {}, "int4"),
        ("FFFFF", {"int4": BAD}, "int4-calibrated"),
        ("FFFFF", {"int4": BAD, "int4_calibrated": BAD}, "int8"),
        ("FFFFF", {"int4": GOOD}, "int4"),
        ("TTLLL", {}, "int4"),
        ("TTLLL", {"int4": BAD, "int4_calibrated": BAD}, ""),
        ("LLLLL", {}, ""),
    ],
)
def test_from_a_four_bit_default(fits, losses, advised):
    assert recommended(candidates(fits, **losses), "int4") == advised


@pytest.mark.parametrize(
    ("fits", "advised"), [("FFFFF", "int8"), ("FFTLL", "int4-calibrated"), ("TTTTL", "int8")]
)
def test_from_an_eight_bit_default(fits, advised):
    assert recommended(candidates(fits), "int8") == advised


def test_what_has_to_be_made_first_is_not_recommended():
    lines = [replace(c, is_ready=c.weights != "int4-calibrated") for c in candidates(int4=BAD)]
    assert recommended(lines, "int4") == "int8"


def test_an_earlier_run_tells_the_time():
    known = {"int8": GOOD, "bf16": replace(GOOD, seconds=100.0)}
    assert measuring_s("int8", SHEET, known, []) == 60.0
    assert measuring_s("int4", SHEET, known, []) == 80.0


def test_runs_of_other_models_tell_it_by_their_size():
    sheet = replace(SHEET, num_parameters=300_000_000)
    assert measuring_s("int8", sheet, {}, [GOOD]) == pytest.approx(180.0)


def test_a_guess_grows_with_the_model():
    small = measuring_s("int8", replace(SHEET, num_parameters=10**8), {}, [])
    large = measuring_s("int8", replace(SHEET, num_parameters=10**10), {}, [])
    assert 0 < small < large


def test_calibration_is_counted_until_it_is_made():
    sheet = replace(SHEET, calibration_s=240.0)
    plain = measuring_s("int4", sheet, {}, [])
    assert measuring_s("int4-calibrated", sheet, {}, []) == plain + 240.0
    made = replace(sheet, is_calibrated=True)
    assert measuring_s("int4-calibrated", made, {}, []) == plain
