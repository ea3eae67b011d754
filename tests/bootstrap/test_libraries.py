"""System packages: found missing by trying, installed only where that asks no question."""

import os
import shutil

import libraries
import pytest
from console import Result, SetupError

PACKAGES = ["libegl1", "libxcb-cursor0"]


@pytest.fixture
def programs(monkeypatch):
    """Programs that are installed; a test removes some."""
    found = {"apt-get", "sudo", "fc-list", "Xvfb", "xvfb-run", "xauth", "xdotool"}
    monkeypatch.setattr(
        shutil, "which", lambda name: f"/usr/bin/{name}" if name in found else None
    )
    return found


@pytest.fixture
def as_user(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


@pytest.fixture
def as_root(monkeypatch):
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def with_fonts(shell):
    shell.answer("fc-list", with_=Result(0, "Some Sans"))


@pytest.mark.usefixtures("programs", "with_fonts")
def test_nothing_is_missing_where_all_loads(shell):
    found = libraries.missing_packages(tests=True, shell=shell, loads=lambda _: True)
    assert found == []


@pytest.mark.usefixtures("with_fonts")
def test_each_missing_package_is_named_once(shell, programs):
    programs -= {"Xvfb", "xvfb-run"}
    there = {"libEGL.so.1", "libxcb-cursor.so.0"}
    found = libraries.missing_packages(tests=True, shell=shell, loads=lambda n: n not in there)
    assert found == [*PACKAGES, "xvfb"]
    assert libraries.missing_packages(tests=False, shell=shell, loads=lambda _: True) == []


@pytest.mark.usefixtures("programs")
def test_a_machine_without_fonts_gets_two(shell):
    shell.answer("fc-list", with_=Result(0, "\n"))
    found = libraries.missing_packages(tests=False, shell=shell, loads=lambda _: True)
    assert found == ["fonts-dejavu-core", "fonts-wqy-microhei"]


@pytest.mark.usefixtures("programs", "with_fonts")
def test_a_python_without_its_second_half_asks_for_it(shell, monkeypatch):
    monkeypatch.setattr(libraries.importlib.util, "find_spec", lambda _: None)
    (found,) = libraries.missing_packages(tests=False, shell=shell, loads=lambda _: True)
    assert found.startswith("python3.")
    assert found.endswith("-venv")


def test_nothing_missing_runs_nothing(shell):
    libraries.provide([], shell, offline=True)
    assert shell.commands == []


@pytest.mark.usefixtures("programs", "as_root")
def test_root_installs_without_sudo(shell):
    libraries.provide(PACKAGES, shell, offline=False)
    assert shell.commands[-1][-4:] == ["install", "--no-install-recommends", *PACKAGES]
    assert shell.ran("sudo") == []


@pytest.mark.usefixtures("programs", "as_user")
def test_sudo_that_does_not_ask_is_used(shell):
    libraries.provide(PACKAGES, shell, offline=False)
    assert shell.commands[-1][:2] == ["sudo", "-n"]


@pytest.mark.usefixtures("programs", "as_user")
def test_without_rights_the_command_is_named(shell):
    shell.answer("sudo", with_=Result(1, "a password is required"))
    with pytest.raises(SetupError, match="run  sudo apt-get install libegl1 libxcb-cursor0"):
        libraries.provide(PACKAGES, shell, offline=False)
    assert shell.ran("apt-get") == []


@pytest.mark.usefixtures("as_root")
def test_other_systems_are_told_the_names(shell, programs):
    programs -= {"apt-get"}
    with pytest.raises(SetupError, match=r"libegl1 libxcb-cursor0.*package manager"):
        libraries.provide(PACKAGES, shell, offline=False)


@pytest.mark.usefixtures("programs", "as_root")
def test_offline_installs_nothing(shell):
    with pytest.raises(SetupError, match="--offline"):
        libraries.provide(PACKAGES, shell, offline=True)
    assert shell.commands == []


@pytest.mark.usefixtures("programs", "as_root")
def test_unreachable_package_servers_are_said(shell):
    shell.answer("apt-get", with_=Result(100, "E: Could not resolve"))
    with pytest.raises(SetupError, match="cannot be reached"):
        libraries.provide(PACKAGES, shell, offline=False)


@pytest.mark.usefixtures("programs", "as_root")
def test_another_failure_gives_apts_last_line(shell):
    shell.answer("apt-get", "update", with_=Result(0))
    shell.answer(
        "apt-get", "install", with_=Result(100, "Reading...\nE: Unable to locate libegl1")
    )
    with pytest.raises(SetupError, match="Unable to locate libegl1"):
        libraries.provide(PACKAGES, shell, offline=False)


def test_an_absent_library_does_not_load():
    assert not libraries.can_load("libsurely-not-there.so.9")
