"""The verdict names what is needed, what is free, and the nearest way out."""

from dataclasses import replace

import pytest

from app.controllers.outlook import Outlook
from app.controllers.precision_words import forecast_of
from engine.api import Fit, ModelOptions, Precision
from tests.helpers.fake_inspector import GIB, SHEET, lines

OPTIONS = ModelOptions("/m/small.gguf", weights=Precision.INT8)


def outlook(options=OPTIONS, sheet=SHEET, line=None, **fits):
    found = lines(**fits)
    if line:
        found[options.weights] = replace(found[options.weights], **line)
    return Outlook(options, sheet, found)


def test_what_fits_is_said_with_both_figures():
    forecast = forecast_of(outlook())
    assert forecast.text == "Needs ~1 GiB of 9 GiB free: fits."
    assert forecast.fit is Fit.FITS
    assert forecast.wait == ""
    assert "Other programs hold 4 GiB." in forecast.detail
    assert "~58.1 tokens a second" in forecast.detail


@pytest.mark.parametrize(
    ("line", "fits", "advice"),
    [
        ({"largest_context": 4200}, {}, "A context of up to 4,096 tokens fits."),
        ({"largest_context": 0}, {}, "INT4 fits."),
        ({"largest_context": 300}, {}, "INT4 fits."),
        (
            {"largest_context": 0, "needed_bytes": 10 * GIB},
            {"int4": Fit.TIGHT},
            "Close other programs; they hold 4 GiB.",
        ),
        (
            {"largest_context": 0, "needed_bytes": 40 * GIB},
            {"int4": Fit.TOO_LARGE},
            "Choose a smaller model.",
        ),
    ],
)
def test_what_is_too_large_has_a_way_out(line, fits, advice):
    found = outlook(line={"fit": Fit.TOO_LARGE, "needed_bytes": 12 * GIB, **line}, **fits)
    words = forecast_of(found).text
    assert words.startswith("Needs ~")
    assert ": too large. " in words
    assert words.endswith(advice)


def test_what_barely_fits_asks_for_room():
    found = outlook(line={"fit": Fit.TIGHT, "largest_context": 8192}, int4=Fit.TIGHT)
    assert forecast_of(found).text.endswith(
        "barely fits. Close other programs to be safe; they hold 4 GiB."
    )


def test_calibration_is_told_with_its_time():
    options = replace(OPTIONS, weights=Precision.INT4, calibrated=True)
    found = outlook(options, replace(SHEET, calibration_s=240.0))
    assert forecast_of(found).wait.startswith("Better INT4 weights are made first: ~4 min, once.")


def test_layers_on_the_processor_are_told():
    assert "12 of 30 layers" in forecast_of(outlook(line={"cpu_layers": 12})).detail
