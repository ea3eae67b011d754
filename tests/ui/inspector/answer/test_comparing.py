"""Two answers side by side: what changed from the other to this one."""

from dataclasses import replace

import pytest

from engine.api import Diagnosis, DiagnosisKind, Sentence
from tests.helpers.reports import make_report
from ui.inspector.answer.comparing import Looked, comparison
from ui.widgets.units import UNKNOWN

REPORT = make_report()
LINE = REPORT.timeline
MS = 1_000_000


def _slower(factor):
    end = LINE.first_token_ns + round(LINE.decode_ns * factor)
    return replace(LINE, last_token_ns=end)


def test_every_figure_of_both_with_its_change():
    slow = _slower(2)
    unsure = Diagnosis(DiagnosisKind.UNSURE, Sentence.SEVERAL, {})
    other = replace(
        REPORT, timeline=slow, precision="int8", times_ns=REPORT.times_ns[::2], diagnosis=unsure
    )
    found = comparison(Looked(LINE, REPORT), Looked(slow, other))
    rows = {row[0]: row[1:] for row in found.table.rows}
    assert rows["Weights"] == (REPORT.precision.upper(), "INT8", "")
    assert rows["Writing"][2] == "+100%"
    assert rows["First token"][2] == "+0%"
    assert rows["Prompt computed"] == ("40", "40", "")
    assert rows["ITL p50"][2] == "-50%"
    assert found.sentence.startswith("This answer was written 2.00 times as fast as the other.")
    assert found.sentence.endswith("This one: Decode-bound; the other: Unsure.")
    same = comparison(Looked(LINE, REPORT), Looked(LINE, REPORT))
    assert same.sentence.endswith("Both: Decode-bound.")
    assert len({len(row) for row in (found.table.headings, *found.table.rows)}) == 1


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (0.5, "The other answer was written 2.00 times as fast as this one."),
        (1.03, "Both were written equally fast, within 5%."),
    ],
)
def test_the_sentence_without_reports_is_about_speed(factor, words):
    found = comparison(Looked(LINE), Looked(_slower(factor)))
    assert found.sentence == words
    names = [row[0] for row in found.table.rows]
    assert "ITL p50" not in names
    assert "Weights" not in names


def test_an_answer_of_one_token_has_no_speed():
    single = replace(LINE, num_output_tokens=1)
    found = comparison(Looked(LINE), Looked(single))
    assert found.sentence == ""
    assert {row[0]: row[2] for row in found.table.rows}["Writing"] == UNKNOWN
