from dataclasses import replace

import pytest

from engine.api import Fit
from ui.settings.precision_lines import (
    LossFigures,
    PrecisionLine,
    loss_explained,
    loss_words,
    memory_words,
    remarks,
    speed_words,
    spoken,
)

LOSS = LossFigures(28.44, 992, 0.9345, 0.0056, 28.12)
LINE = PrecisionLine("int8", "INT8", 791 << 20, Fit.FITS, 58.14, LOSS, is_recommended=True)


def test_estimates_carry_a_tilde_and_what_is_measured_does_not():
    assert memory_words(LINE) == "~791 MiB"
    assert speed_words(LINE) == "~58 tokens/s at full context"
    assert speed_words(replace(LINE, decode_tokens_per_s=7.06)) == "~7.1 tokens/s at full context"
    assert speed_words(replace(LINE, decode_tokens_per_s=None)) == ""
    assert loss_words(LINE) == ("93.5% same token", "KL 0.006")


@pytest.mark.parametrize(
    ("agreement", "shown"), [(1.0, "100%"), (0.9999, "99.9%"), (0.5, "50.0%"), (0.0, "0.0%")]
)
def test_nearly_all_is_not_all(agreement, shown):
    line = replace(LINE, loss=replace(LOSS, top1_agreement=agreement))
    assert loss_words(line)[0] == f"{shown} same token"


@pytest.mark.parametrize(
    ("divergence", "shown"), [(0.00004, "0.0000"), (0.0041, "0.004"), (0.5, "0.50")]
)
def test_divergences_of_any_size(divergence, shown):
    line = replace(LINE, loss=replace(LOSS, mean_kl=divergence))
    assert loss_words(line)[1] == f"KL {shown}"


def test_what_is_not_measured_says_so():
    assert loss_words(replace(LINE, loss=None)) == ("Loss not measured",)
    alone = LossFigures(28.44, 992)
    assert loss_words(replace(LINE, loss=alone)) == ("Perplexity 28.4",)
    assert "no room for FP32" in loss_explained(replace(LINE, loss=alone))
    assert loss_words(replace(LINE, is_reference=True)) == ("Exact",)


def test_the_explanation_has_every_figure():
    words = loss_explained(LINE)
    for figure in ("992", "93.5%", "0.006", "28.44", "28.12", "FP32"):
        assert figure in words


def test_a_screen_reader_hears_the_whole_line():
    bad = replace(
        LINE, loss=replace(LOSS, is_bad=True), making_s=240, is_automatic=True, fit=Fit.TOO_LARGE
    )
    assert spoken(bad) == (
        "INT8, ~791 MiB, Too large, ~58 tokens/s at full context, 93.5% same token, KL 0.006, Recommended, "
        "Loses noticeably, Automatic, Made first, ~4 min, once"
    )
    assert [words for _, words in remarks(LINE)][-1] == "Recommended"
