"""The settings file: whole or not at all, and never thrown away."""

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.settings import file
from app.settings.file import read_values, write_values

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(values=st.dictionaries(st.text().filter(lambda key: key != "version"), JSON_VALUES))
def test_what_is_written_is_read(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("settings") / "settings.json"
    write_values(path, values)
    assert read_values(path) == values
    assert [entry.name for entry in path.parent.iterdir()] == ["settings.json"]


def test_no_file_is_no_values(tmp_path):
    assert read_values(tmp_path / "none.json") == {}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\0" * 64560, b"\xff\xfe\xfa", b"[1]", b'"text"'], ids=repr
)
def test_a_damaged_file_is_moved_aside(tmp_path, logfail, content):
    logfail.expect("settings file is damaged")
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    assert read_values(path) == {}
    assert not path.exists()
    (kept,) = tmp_path.iterdir()
    assert kept.read_bytes() == content


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "settings.json"
    write_values(path, {"a": 1})

    def full(_descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_values(path, {"a": 2})
    assert read_values(path) == {"a": 1}
    assert len(list(tmp_path.iterdir())) == 1


def test_older_files_are_migrated(tmp_path, monkeypatch):
    monkeypatch.setattr(file, "MIGRATIONS", (lambda values: {"new_name": values["old_name"]},))
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"version": 1, "old_name": 5}))
    assert read_values(path) == {"new_name": 5}
    path.write_text(json.dumps({"version": 2, "new_name": 6}))
    assert read_values(path) == {"new_name": 6}
