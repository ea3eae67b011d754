"""The door: even a Python that is far too old reads the file and prints one sentence."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "packaging" / "bootstrap.py"


def test_the_file_is_readable_by_old_pythons():
    tree = ast.parse(SCRIPT.read_text("utf-8"), feature_version=(3, 4))
    new = (ast.JoinedStr, ast.AnnAssign, ast.NamedExpr, ast.Match, ast.AsyncFunctionDef)
    assert not [node for node in ast.walk(tree) if isinstance(node, new)]


@pytest.mark.parametrize("version", [(2, 7), (3, 10), (3, 15)])
def test_a_wrong_python_is_one_sentence(version):
    code = (
        f"import sys, runpy; sys.version_info = {(*version, 0)!r}; "
        f"runpy.run_path({str(SCRIPT)!r}, run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr.startswith("Tokentide runs on a 64-bit Python 3.11")
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1


def test_help_needs_no_environment():
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "--offline" in done.stdout
