"""The native core on an emulated ARM processor, where a cross compiler and an emulator are there.

What compares its instruction sets is tests/native/agreement.cpp.
"""

import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytestmark = pytest.mark.oracle

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "engine" / "kernels" / "native"
COMPILER, EMULATOR = shutil.which("aarch64-linux-gnu-g++"), shutil.which("qemu-aarch64")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if COMPILER is None or EMULATOR is None:
        pytest.skip("no cross compiler, or no emulator, for ARM")
    folder = tmp_path_factory.mktemp("arm")
    options = ["-std=c++17", "-O1", "-pthread", "-w", f"-I{NATIVE}"]
    sources = [ROOT / "tests" / "native" / "agreement.cpp", *NATIVE.glob("*.cpp")]

    def compiled(source: Path) -> str:
        made = str(folder / f"{source.stem}.o")
        subprocess.run([str(COMPILER), *options, "-c", str(source), "-o", made], check=True)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    path = folder / "agreement"
    subprocess.run([COMPILER, "-static", "-pthread", *objects, "-o", str(path)], check=True)
    return path


@pytest.mark.parametrize(
    ("processor", "sets"),
    [
        ("max", ["neon-i8mm", "neon", "portable"]),
        ("cortex-a76", ["neon", "portable"]),
        ("cortex-a53", ["portable"]),
    ],
)
def test_instruction_sets_agree_and_are_found(program: Path, processor: str, sets: list[str]):
    done = subprocess.run(
        [str(EMULATOR), "-cpu", processor, str(program)],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert [line.split()[0] for line in done.stdout.splitlines()] == sets
    assert done.returncode == 0, done.stdout
