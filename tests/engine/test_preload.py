"""Libraries are loaded where they are, and nothing is imported for it."""

import subprocess
import sys

import pytest

from engine.preload import load_libraries, preload_torch

ASK = """
import sys
from engine.preload import preload_torch
loaded = preload_torch()
assert "torch" not in sys.modules
import torch
print(loaded, float(torch.ones(3) @ torch.ones(3)))
"""


def test_a_folder_without_them_has_none(tmp_path):
    assert load_libraries(tmp_path) == []


@pytest.mark.skipif(sys.platform == "win32", reason="torch does it itself")
def test_what_is_no_library_is_left_to_the_import(tmp_path):
    for suffix in (".so", ".dylib"):
        (tmp_path / f"libtorch_cpu{suffix}").write_bytes(b"no library")
    assert load_libraries(tmp_path) == []


def test_torch_that_is_there_already_is_left_alone(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", sys)
    assert preload_torch() == []


@pytest.mark.skipif(sys.platform == "win32", reason="torch does it itself")
def test_the_import_works_after_it():
    words = [sys.executable, "-c", ASK]
    result = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "libtorch_cpu" in result.stdout
    assert result.stdout.endswith("3.0\n")
