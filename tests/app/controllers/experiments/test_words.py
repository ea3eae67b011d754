from dataclasses import replace

from app.controllers.experiments.words import (
    depth_rows,
    kv_words,
    label_words,
    run_words,
    setting_parts,
    when_words,
)
from app.experiments.foretell import Foretold
from app.experiments.runs import Run, Setting
from app.experiments.trials import Depth

RUN = Run(
    "a",
    "cache",
    "quick",
    "2026-11-30T12:00:00+00:00",
    Setting("Test CPU", 2, "Small", "int4", "bfloat16", 2048, "ngram"),
    (),
)


def test_a_run_is_named_by_what_it_ran_on():
    words = run_words(RUN)
    assert words.endswith("Small · INT4 · cache BF16 · 2 threads · draft ngram")
    plain = run_words(replace(RUN, setting=replace(RUN.setting, draft="")))
    assert plain.endswith("2 threads")
    late = run_words(replace(RUN, depth="full", is_complete=False))
    assert late.split(" · ")[1:3] == ["thorough", "incomplete"]


def test_a_time_that_is_none_is_shown_as_it_is():
    assert when_words(replace(RUN, at="once")) == "once"


def test_settings_and_labels():
    assert setting_parts(RUN.setting)["draft"] == "draft ngram"
    assert setting_parts(replace(RUN.setting, draft=""))["draft"] == "no draft"
    assert kv_words("something") == "SOMETHING"
    assert label_words("int4") == "INT4"
    assert label_words("prose") == "prose"
    assert [row.name for row in depth_rows()] == ["quick", "full"]


def test_the_time_of_each_depth_and_what_it_rests_on():
    rows = depth_rows(
        {
            Depth.QUICK: Foretold(52.0, is_measured=False),
            Depth.FULL: Foretold(310.0, is_measured=True, is_crowded=True),
        }
    )
    assert [row.words for row in rows] == ["Quick, ~50 s", "Thorough, ~5 min"]
    assert "estimated" in rows[0].note
    assert "beside other programs" in rows[1].note
    (quick, _full) = depth_rows({Depth.QUICK: Foretold(0.0, is_measured=False)})
    assert (quick.words, quick.note) == ("Quick", "")  # calculated at once
    told = depth_rows({Depth.QUICK: Foretold(2.0, is_measured=True)})[0]
    assert told.words == "Quick, ~5 s"
    assert "last run" in told.note
