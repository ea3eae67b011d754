"""What the table shows of a look and of what was measured."""

from dataclasses import replace

import pytest

from app.controllers.outlook import Outlook
from app.controllers.precision_rows import offered, rows_of, selected_of, to_measure
from app.quality.loss import Loss
from engine.api import Fit, ModelOptions, Precision
from tests.helpers.fake_inspector import SHEET, lines

GOOD = Loss(28.4, 992, 0.95, 0.005, 28.1, 60.0, 100)
BAD = replace(GOOD, top1_agreement=0.85)
CAN_CALIBRATE = replace(SHEET, calibration_s=240.0)


def outlook(sheet=SHEET, **fits):
    return Outlook(ModelOptions(sheet.path), sheet, lines(**fits), "key")


def by_key(rows):
    return {row.key: row for row in rows}


def test_calibrated_weights_are_offered_where_they_gain():
    assert "int4-calibrated" not in offered(outlook())
    assert "int4-calibrated" in offered(outlook(CAN_CALIBRATE))
    assert "int4-calibrated" in offered(outlook(replace(SHEET, is_calibrated=True)))


def test_what_has_to_be_made_tells_its_time():
    rows = by_key(rows_of(outlook(CAN_CALIBRATE), {}, "auto"))
    assert rows["int4-calibrated"].making_s == 240.0
    assert rows["int4"].making_s is None
    made = replace(CAN_CALIBRATE, is_calibrated=True)
    assert by_key(rows_of(outlook(made), {}, "auto"))["int4-calibrated"].making_s is None


def test_one_line_is_recommended_and_never_a_bad_bargain():
    for known, advised in (({}, "int8"), ({"int8": BAD}, "bf16"), ({"int8": GOOD}, "int8")):
        rows = rows_of(outlook(), known, "auto")
        assert [row.key for row in rows if row.is_recommended] == [advised]
    assert by_key(rows)["int8"].loss.top1_agreement == 0.95


def test_automatic_is_marked_while_it_is_set():
    rows = rows_of(outlook(), {}, "auto")
    assert [row.key for row in rows if row.is_automatic] == ["int8"]
    assert not any(row.is_automatic for row in rows_of(outlook(), {}, "int8"))


@pytest.mark.parametrize(
    ("setting", "sheet", "selected"),
    [
        ("auto", SHEET, "int8"),
        ("bf16", SHEET, "bf16"),
        ("int4-calibrated", SHEET, "int4"),
        ("int4-calibrated", CAN_CALIBRATE, "int4-calibrated"),
    ],
)
def test_the_row_in_force(setting, sheet, selected):
    assert selected_of(outlook(sheet), setting) == selected


def test_measuring_takes_what_is_unknown_and_then_all_again():
    look = outlook(bf16=Fit.TOO_LARGE)
    assert to_measure(look, {}) == ["int4", "int8"]
    assert to_measure(look, {"int4": GOOD}) == ["int8"]
    assert to_measure(look, {"int4": GOOD, "int8": GOOD}) == ["int4", "int8"]


def test_every_line_has_the_planners_figures():
    for row in rows_of(outlook(int4=Fit.TIGHT), {}, "auto"):
        assert row.num_bytes == lines()[Precision.INT8].needed_bytes
        assert row.decode_tokens_per_s == 58.1
        assert row.fit is (Fit.TIGHT if row.key == "int4" else Fit.FITS)
        assert row.is_reference == (row.key == "fp32")
