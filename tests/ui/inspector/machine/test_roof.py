"""Points, sentences and tables of the roofline, from a report with round figures.

Decode reads 80 MB a token in 10 ms: 8 of 10 GB/s. Prefill computes 4 GFLOP in 100 ms: 40 GFLOP/s.
"""

from dataclasses import replace

import pytest

from ui.inspector.machine.picture import MachinePicture
from ui.inspector.machine.roof import (
    ceiling_table,
    chart_points,
    measured_words,
    roof_of,
    stage_sentences,
    stage_table,
)


def test_the_ceilings_are_those_of_the_answers_own_products(picture, report):
    line = report.roofline
    assert roof_of(picture) == (
        line.decode.bytes_per_s_ceiling,
        line.prefill.flops_per_s_ceiling,
    )


def test_without_an_answer_they_are_those_of_the_weights(picture):
    assert roof_of(replace(picture, report=None)) == (1e10, 3e11)
    assert roof_of(replace(picture, report=None, info=None)) == (1e10, 4e11)
    assert roof_of(MachinePicture()) == (0.0, 0.0)


def test_points(report):
    prefill, decode = chart_points(report.roofline)
    assert (prefill.name, decode.name) == ("Prefill", "Decode")
    assert decode.intensity == pytest.approx(2.0)
    assert prefill.flops_per_s == pytest.approx(4e10)
    still = replace(report.roofline.decode, flops_per_s=None, bytes_per_s=None)
    assert len(chart_points(replace(report.roofline, decode=still))) == 1
    assert chart_points(None) == []


def test_sentences(report):
    line = report.roofline
    reads, idle, computes = stage_sentences(line)
    assert reads.startswith("Each decoded token reads 76.3 MiB of memory")
    share = 100 * (1 - line.decode.flops_per_s / line.decode.flops_per_s_ceiling)
    assert f"leaves ~{share:.0f}% of the arithmetic idle" in idle
    assert "does 2 operations for each byte" in idle
    assert "40 GFLOP/s" in computes


def test_an_answer_too_short_to_be_timed(report):
    line = report.roofline
    decode = replace(line.decode, bytes_per_s=None, flops_per_s=None, share=None)
    prefill = replace(line.prefill, bytes_per_s=None, flops_per_s=None, share=None)
    assert stage_sentences(replace(line, decode=decode, prefill=prefill)) == []
    table = stage_table(replace(line, decode=decode, prefill=prefill))
    assert [row[2] for row in table.rows][-2:] == ["—", "—"]


def test_tables(report, ceilings):
    assert stage_table(report.roofline).rows[0][2] == "76.3 MiB"
    rows = dict(ceiling_table(ceilings).rows)
    assert rows["Reading weights"] == "10 GB/s"
    assert rows["Products, INT8"] == "400 GFLOP/s"


def test_when_they_were_measured(picture, exceeded):
    assert measured_words(picture) == "Measured today on the processor, 2 threads."
    old = replace(picture, age_s=90 * 24 * 3600.0)
    assert "90 days ago" in measured_words(old)
    assert "long ago" in measured_words(old)
    assert "faster than they allow" in measured_words(exceeded)
    assert measured_words(MachinePicture()).startswith("This machine's ceilings are not measured")
