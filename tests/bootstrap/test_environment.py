"""The environment: recognised when it is right, made anew when it is not, one sentence else."""

import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import environment
import pytest
from console import Result, SetupError
from environment import Environment, find_torch_build


@pytest.fixture(autouse=True)
def plain_variables(monkeypatch):
    monkeypatch.delenv(environment.TORCH_INDEX_VARIABLE, raising=False)
    monkeypatch.delenv(environment.TORCH_BUILD_VARIABLE, raising=False)


@pytest.fixture
def root(tmp_path):
    (tmp_path / "packaging").mkdir()
    (tmp_path / "packaging" / "constraints.txt").write_text("a==1\n")
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    native = tmp_path / "engine" / "kernels" / "native"
    native.mkdir(parents=True)
    (native / "team.cpp").write_text("// threads\n")
    return tmp_path


@pytest.fixture
def make(root, shell):
    """An Environment of ``root`` whose ``python -m venv`` lays the files of a real one."""

    def create(command):
        folder = Path(command[-1])
        (folder / "bin").mkdir(parents=True, exist_ok=True)
        (folder / "bin" / "python").touch()
        (folder / "pyvenv.cfg").write_text("home = /usr\nversion = 3.11.7\n")
        return Result(0)

    shell.answer("venv", "--clear", with_=create)
    shell.answer("m.version('torch')", with_=Result(1, "PackageNotFoundError"))
    return lambda dev=False, build="cpu": Environment(root, shell, dev, build)


def installs(shell):
    return [command[-1] for command in shell.ran("pip", "install")]


def test_a_first_time_makes_everything_in_order(make, shell, root):
    make(dev=True).prepare(offline=False)
    assert installs(shell) == ["torch==2.13.0+cpu", "setuptools", f"{root}[dev]"]
    assert all("--constraint" in command for command in shell.ran("pip", "install"))


def test_the_second_time_only_looks(make, shell):
    make().prepare(offline=False)
    shell.commands.clear()
    make().prepare(offline=True)
    assert shell.ran("pip") == []
    assert len(shell.commands) == 1


@pytest.mark.parametrize(
    "changed",
    ["packaging/constraints.txt", "pyproject.toml", "engine/kernels/native/team.cpp"],
)
def test_new_pins_install_again(make, root, changed):
    make().prepare(offline=False)
    (root / changed).write_text("b==2\n")
    assert not make().is_ready()
    make().prepare(offline=False)
    assert make().is_ready()


def test_the_tests_need_more_and_the_app_needs_less(make):
    make().prepare(offline=False)
    assert not make(dev=True).is_ready()
    make(dev=True).prepare(offline=False)
    assert make(dev=True).is_ready()
    assert make().is_ready()


def test_a_driver_that_appears_asks_for_another_build(make):
    make().prepare(offline=False)
    assert not make(build="cuda").is_ready()


def test_a_broken_interpreter_is_replaced(make, shell, capsys):
    make().prepare(offline=False)
    shell.rules.insert(0, (("import sys, pip",), Result(127, "not found")))
    shell.rules.insert(0, (("importlib.metadata", "torch", "transformers"), Result(127)))
    assert not make().is_ready()
    with pytest.raises(SetupError, match="do not load"):
        make().prepare(offline=False)
    assert len(shell.ran("venv", "--clear")) == 2
    assert "anew" in capsys.readouterr().out


def test_a_stamp_that_is_no_json_counts_for_nothing(make, root):
    make().prepare(offline=False)
    for text in ("", "[]", "{"):
        (root / ".venv" / "tokentide-setup.json").write_text(text)
        assert not make().is_ready()


def test_a_folder_that_is_no_environment_is_left_alone(make, shell, root):
    (root / ".venv").mkdir()
    (root / ".venv" / "diary.txt").write_text("mine")
    with pytest.raises(SetupError, match="move it away"):
        make().prepare(offline=False)
    assert (root / ".venv" / "diary.txt").exists()
    assert shell.ran("venv", "--clear") == []


def test_offline_never_calls_pip(make, shell):
    with pytest.raises(SetupError, match="--offline"):
        make().prepare(offline=True)
    assert shell.ran("pip") == []


def test_no_space_is_said_first(make, shell, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    with pytest.raises(SetupError, match="too full"):
        make().prepare(offline=False)
    assert shell.commands == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the Linux choice of builds")
def test_without_a_cpu_build_the_larger_one_is_announced(make, shell, capsys):
    shell.answer("torch==2.13.0+cpu", with_=Result(1, "ERROR: No matching distribution found"))
    make().prepare(offline=False)
    assert installs(shell)[:2] == ["torch==2.13.0+cpu", "torch==2.13.0"]
    assert "3 GB" in capsys.readouterr().out


def test_without_a_network_no_larger_build_is_tried(make, shell):
    text = "WARNING: NewConnectionError\nERROR: No matching distribution found for torch"
    shell.answer("torch==2.13.0+cpu", with_=Result(1, text))
    with pytest.raises(SetupError, match="cannot be reached"):
        make().prepare(offline=False)
    assert installs(shell) == ["torch==2.13.0+cpu"]


def test_a_driver_passes_over_the_cpu_build(make, shell):
    make(build="cuda").prepare(offline=False)
    assert installs(shell)[0] == "torch===2.13.0"


def test_torchs_own_index_can_be_named(make, shell, monkeypatch):
    monkeypatch.setenv(environment.TORCH_INDEX_VARIABLE, "file:///wheels")
    make(build="cuda").prepare(offline=False)
    first = shell.ran("pip", "install")[0]
    assert first[-3:] == ["torch==2.13.0", "--index-url", "file:///wheels"]


def test_a_right_torch_is_not_installed_again(make, shell):
    shell.rules.insert(0, (("m.version('torch')",), Result(0, "2.13.0+cpu\n")))
    make().prepare(offline=False)
    assert installs(shell)[0] == "setuptools"


def test_no_network_is_one_sentence_with_the_log(make, shell):
    shell.answer("setuptools", with_=Result(1, "WARNING: ...\nERROR: NewConnectionError"))
    with pytest.raises(SetupError, match=r"cannot be reached.*setup\.log"):
        make().prepare(offline=False)
    assert not make().is_ready()


def test_a_failed_venv_gives_its_reason(make, shell):
    shell.rules.insert(0, (("venv", "--clear"), Result(1, "Error: \nno such module")))
    with pytest.raises(SetupError, match="no such module"):
        make().prepare(offline=False)


def test_the_build_can_be_chosen(monkeypatch):
    monkeypatch.setenv(environment.TORCH_BUILD_VARIABLE, "cuda")
    assert find_torch_build() == "cuda"
    monkeypatch.setenv(environment.TORCH_BUILD_VARIABLE, "rocm")
    with pytest.raises(SetupError, match="cpu or cuda"):
        find_torch_build()


@pytest.mark.skipif(os.name != "posix", reason="looks at Linux drivers")
def test_the_driver_is_found_by_its_tool(monkeypatch, tmp_path):
    monkeypatch.setattr(environment.sys, "platform", "linux")
    tool = tmp_path / "nvidia-smi"
    tool.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert find_torch_build() == "cuda"
