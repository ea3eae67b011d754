import pytest

from engine.kernels import library
from engine.kernels.library import instruction_sets, open_core


@pytest.mark.usefixtures("core")
def test_best_instruction_set_is_the_default():
    assert open_core().instruction_set == instruction_sets()[0]


@pytest.mark.usefixtures("core")
def test_every_machine_has_the_portable_twin():
    assert instruction_sets()[-1] == "portable"


@pytest.mark.usefixtures("core")
def test_unknown_instruction_set_is_refused():
    with pytest.raises(ValueError, match="abacus is not one of"):
        open_core("abacus")


def test_teams_are_kept(core):
    assert core.team(2) == core.team(2)
    assert core.team(2) != core.team(3)


def test_without_a_library_there_is_no_core(monkeypatch):
    monkeypatch.setattr(library, "open_library", lambda: None)
    assert library.instruction_sets() == ()
    assert library.open_core.__wrapped__() is None


def test_broken_library_is_left_aside(monkeypatch, tmp_path):
    (tmp_path / "_native.so").write_bytes(b"no library")
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    assert library.open_library.__wrapped__() is None


@pytest.mark.parametrize("threads", [1, 3])
def test_products_in_registers_are_counted(core, threads):
    team = core.team(threads)
    one = core.library.tt_dots(team, threads, 1)
    # eight times twelve or four products, of sixteen lanes with four multiplications and additions
    assert one in {8 * 12 * 128 * threads, 8 * 4 * 128 * threads}
    assert core.library.tt_dots(team, threads, 7) == 7 * one
    assert core.library.tt_dots(team, threads, 0) == 0
