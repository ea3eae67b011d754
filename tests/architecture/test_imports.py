"""Dependencies point one way, and heavy libraries come only where they are used."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.sources import ROOT

BINARIES = Path(sys.executable).parent


def run(*command):
    env = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False, timeout=200
    )


def test_the_import_contracts_hold():
    done = run(str(BINARIES / "lint-imports"), "--no-cache")
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("ui.main_window", ("torch", "numpy", "tokenizers", "transformers", "sqlite3")),
        ("app.main", ("torch", "numpy", "transformers")),
        ("app.composition", ("torch", "numpy", "transformers")),
        ("engine.api", ("torch", "numpy", "PySide6")),
        ("engine.scheduling.scheduler", ("torch", "numpy", "PySide6")),
        ("engine.service", ("PySide6", "transformers")),
    ],
)
def test_an_import_loads_only_what_it_needs(module, absent):
    if sys.platform == "win32" and module.startswith("app"):
        pytest.skip("on Windows torch is loaded before Qt, for its DLLs")
    code = f"import sys, {module}; print(*(set({absent!r}) & set(sys.modules)))"
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == []


def test_engine_help_loads_no_torch():
    code = (
        "import sys, runpy\n"
        "sys.argv = ['engine', '--help']\n"
        "try:\n    runpy.run_module('engine', run_name='__main__')\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "sys.exit('torch' in sys.modules)"
    )
    done = run(sys.executable, "-c", code)
    assert done.returncode == 0, done.stderr
    assert "bench" in done.stdout


def test_packaging_stays_a_folder():
    # as a package it would shadow the library "packaging", which transformers needs
    assert not (ROOT / "packaging" / "__init__.py").exists()
    import packaging.version  # noqa: PLC0415 - the assertion before explains a failure here

    assert ROOT not in Path(packaging.version.__file__).parents or ".venv" in str(
        packaging.version.__file__
    )
