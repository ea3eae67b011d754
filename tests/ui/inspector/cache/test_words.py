"""Blocks in words."""

import pytest

from engine.api import BlockRun, BlockState, CacheForm
from ui.inspector.cache.picture import Owner, Total
from ui.inspector.cache.words import (
    form_name,
    group_title,
    kind_name,
    owner_name,
    run_words,
    total_words,
)

TITLES = {"1": "The tides", "2": "A kraken of the northern sea, and its teeth"}


def words(full, *run):
    return run_words(full, BlockRun(*run), TITLES).splitlines()


def test_a_run_of_one_chat(full):
    assert words(full, 4, BlockState.LIVE, ("1",), 64) == [
        "“The tides”",
        "tokens 65 to 128",
        "4 blocks · 4 MiB · in use",
    ]


def test_a_shared_run_names_both_and_cuts_long_titles(full):
    assert words(full, 1, BlockState.KEPT, ("1", "2"), 0) == [
        "“The tides” and “A kraken of the northern…”",
        "tokens 1 to 16",
        "1 block · 1 MiB · kept for reuse",
    ]


def test_runs_of_nobody(full):
    assert words(full, 75, BlockState.FREE) == ["Free", "75 blocks · 75 MiB"]
    assert words(full, 2, BlockState.KEPT)[0] == "Of an answer that ended, no chat's any more"
    assert words(full, 2, BlockState.LIVE, ("",), 0)[0] == "an experiment"
    assert words(full, 2, BlockState.LIVE, ("9",), 0)[0] == "an untitled chat"


def test_kinds_of_layers(full, window):
    assert group_title(full) == "30 layers that see everything"
    assert group_title(window) == "15 layers that see 64 tokens"
    assert kind_name("full") == "full"
    assert kind_name("unheard of") == "unheard of"


def test_totals():
    assert total_words(Total(3 << 20, 1_600)) == "3 MiB · 1,600 tok"
    assert total_words(Total()) == "—"


@pytest.mark.parametrize("owner", Owner)
def test_every_owner_has_a_name(owner):
    assert owner_name(owner)


@pytest.mark.parametrize("form", CacheForm)
def test_every_way_has_a_name(form):
    assert form_name(form)
