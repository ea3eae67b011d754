"""The Triton kernels without a card: run in Triton's interpreter, and compiled for real cards.

Both need a process of their own: Triton reads once, when it is imported, whether it interprets.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
INTERPRETED = ("tests/engine/kernels/gpu", "tests/engine/model/captured/test_kernel_rows.py")

pytestmark = [
    pytest.mark.skipif(find_spec("triton") is None, reason="Triton is not installed"),
    pytest.mark.timeout(600),
]


def _run(arguments: list[str], **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=580,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-2_000:]
    return done.stdout


def test_kernels_agree_with_their_twins_in_the_interpreter() -> None:
    quietly = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly"]
    out = _run(["-m", "pytest", *quietly, *INTERPRETED], TRITON_INTERPRET="1")
    assert " passed" in out
    assert "skipped" not in out


def test_kernels_compile_as_they_are_started(tmp_path: Path) -> None:
    """To machine code, for Turing and for Hopper, with arguments as the engine gives them."""
    code = ["-m", "tests.helpers.compiled_kernels", "75:int4", "90:int8", "90:bfloat16"]
    out = _run(code, TRITON_INTERPRET="0", TRITON_CACHE_DIR=str(tmp_path))
    assert out.splitlines() == [
        "75:int4 _append_codes _attend_part _join_parts",
        "90:int8 _append_codes _attend_part _join_parts",
        "90:bfloat16 _append_floats _attend_part _join_parts",
    ]
