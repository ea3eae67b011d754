from dataclasses import replace

from app.controllers.experiments.words import (
    depth_rows,
    kv_words,
    label_words,
    run_words,
    setting_parts,
    when_words,
)
from app.experiments.runs import Run, Setting

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
