"""The verdict, its margin and its reasons."""

import pytest

from engine.planner.room import Memory, Verdict, explain, judge, margin_bytes

GIB = 1 << 30


def test_a_close_fit_is_no_fit():
    # an estimate of 30.2 of 31.9 GiB has been called loadable, and failed while loading
    memory = Memory(total_bytes=32 * GIB, available_bytes=int(31.9 * GIB))
    assert judge(int(30.2 * GIB), memory) is Verdict.TIGHT
    assert judge(int(29.8 * GIB), memory) is Verdict.FITS
    assert judge(32 * GIB, memory) is Verdict.TOO_LARGE


@pytest.mark.parametrize(
    ("needed", "margin"), [(0, GIB // 2), (GIB, GIB // 2), (4 * GIB, GIB), (100 * GIB, 2 * GIB)]
)
def test_the_margin_grows_with_the_model(needed, margin):
    assert margin_bytes(needed) == margin


def test_the_model_to_be_replaced_gives_its_bytes_back():
    alone = Memory(16 * GIB, 4 * GIB)
    replacing = Memory(16 * GIB, 4 * GIB, bytes_to_free=5 * GIB)
    assert judge(6 * GIB, alone) is Verdict.TOO_LARGE
    assert judge(6 * GIB, replacing) is Verdict.FITS
    assert any("gives back 5.37 GB" in reason for reason in explain(GIB, replacing, Verdict.FITS))


def test_no_model_gives_back_more_than_there_is():
    assert Memory(16 * GIB, 10 * GIB, bytes_to_free=100 * GIB).usable_bytes == 16 * GIB


def test_reasons_say_who_holds_the_rest():
    memory = Memory(16 * GIB, 4 * GIB, other_bytes=12 * GIB, is_cuda=True)
    first, other = explain(8 * GIB, memory, Verdict.TOO_LARGE)
    assert "graphics memory" in first
    assert "12.88 GB" in other


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_is_a_sentence(verdict):
    for reason in explain(GIB, Memory(GIB, GIB), verdict):
        assert reason[0].isupper()
        assert reason.endswith(".")
