"""The virtual environment: made once, filled under exact pins, recognised the next time.

A stamp inside it holds what it was made from; while that stands, nothing is run and no network is
used. The torch build follows the driver that is found.
"""

import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from console import SetupError, Shell, say

TORCH = "2.13.0"
TORCH_INDEX_VARIABLE = "TOKENTIDE_TORCH_INDEX"
TORCH_BUILD_VARIABLE = "TOKENTIDE_TORCH"
# measured on Linux x86-64: the finished environment, and room for pip to unpack
DISK_NEEDED = {"cpu": 3_000_000_000, "cuda": 9_000_000_000}
PROBE = "import importlib.metadata as m; [m.version(n) for n in {names}]"
INSTALLED = ("torch", "PySide6_Essentials", "transformers", "tokentide")
INSTALLED_FOR_TESTS = ("pytest", "pytest-qt", "ruff", "mypy")
PIP_SETTINGS = {
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_NO_INPUT": "1",
    "PIP_ROOT_USER_ACTION": "ignore",
    "PYTHONNOUSERSITE": "1",
}
NETWORK_SIGNS = (
    "NewConnectionError",
    "NameResolutionError",
    "ConnectTimeout",
    "ReadTimeout",
    "Network is unreachable",
    "name resolution",
    "getaddrinfo failed",
    "Connection refused",
    "Failed to establish a new connection",
    "ProxyError",
)


def find_torch_build() -> str:
    """Say "cuda" when an NVIDIA driver is installed, else "cpu"; the environment may overrule."""
    if named := os.environ.get(TORCH_BUILD_VARIABLE):
        if named not in DISK_NEEDED:
            raise SetupError(f"{TORCH_BUILD_VARIABLE} is {named}: it can be cpu or cuda.")
        return named
    if sys.platform == "win32":
        driver = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32" / "nvcuda.dll"
        return "cuda" if driver.exists() else "cpu"
    drivers = ("/proc/driver/nvidia/version", "/usr/lib/wsl/lib/libcuda.so.1")
    found = shutil.which("nvidia-smi") or any(Path(driver).exists() for driver in drivers)
    return "cuda" if found and sys.platform != "darwin" else "cpu"


@dataclass(frozen=True, slots=True)
class Environment:
    """``.venv`` of one checkout. ``dev`` adds what the tests and checks need."""

    root: Path
    shell: Shell
    dev: bool
    build: str

    @property
    def folder(self) -> Path:
        """Where the environment lies."""
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        """Its interpreter."""
        inside = "Scripts/python.exe" if sys.platform == "win32" else "bin/python"
        return self.folder / inside

    @property
    def _stamp(self) -> Path:
        return self.folder / "tokentide-setup.json"

    @property
    def _log(self) -> Path:
        return self.folder / "setup.log"

    def is_ready(self) -> bool:
        """Whether the environment is sound and made from the present pins."""
        try:
            stamp = json.loads(self._stamp.read_text("utf-8"))
        except (OSError, ValueError):
            return False
        same = isinstance(stamp, dict) and stamp.get("made_from") == self._fingerprint()
        return same and (stamp.get("dev") or not self.dev) and self._holds_packages()

    def prepare(self, *, offline: bool) -> None:
        """Make the environment ready, doing only what is missing.

        Raises SetupError with one sentence when that is impossible.
        """
        if self.is_ready():
            return
        if offline:
            raise SetupError(
                "The Python environment in .venv is missing, broken or out of date and --offline "
                "was given: run  packaging/bootstrap.py install  once with a network."
            )
        self._check_disk()
        self._make()
        self._install_torch()
        say("Installing the other packages (about 210 MB to download)")
        self._pip_or_fail("setuptools")
        extras = "[dev]" if self.dev else ""
        self._pip_or_fail("--no-build-isolation", "--editable", f"{self.root}{extras}")
        if not self._holds_packages():
            raise SetupError(
                "The packages were installed but do not load: delete the folder .venv and start "
                "again."
            )
        stamp = {"made_from": self._fingerprint(), "dev": self.dev}
        self._stamp.write_text(json.dumps(stamp), "utf-8")

    # ------------------------------------------------------------------ parts

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(f"{self.build} {self._version()}".encode())
        native = self.root / "engine" / "kernels" / "native"  # built by the installation
        recipes = [self.root / name for name in ("packaging/constraints.txt", "pyproject.toml")]
        for path in [*recipes, *sorted(native.glob("*.[ch]*"))]:
            digest.update(path.read_bytes())
        return digest.hexdigest()

    def _version(self) -> str:
        """Python version the environment was made with, from its own record."""
        try:
            record = (self.folder / "pyvenv.cfg").read_text("utf-8")
        except OSError:
            return ""
        match = re.search(r"^version\s*=\s*(\S+)", record, re.MULTILINE)
        return match.group(1) if match else ""

    def _holds_packages(self) -> bool:
        names = INSTALLED + (INSTALLED_FOR_TESTS if self.dev else ())
        return self.shell.run([str(self.python), "-c", PROBE.format(names=names)]).code == 0

    def _check_disk(self) -> None:
        free = shutil.disk_usage(self.root).free
        needed = DISK_NEEDED[self.build]
        if free < needed and not self.folder.exists():
            raise SetupError(
                f"The disk is too full: the packages need about {needed / 1e9:.0f} GB and "
                f"{free / 1e9:.1f} GB are free; make room and start again."
            )

    def _make(self) -> None:
        probe = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
        if self.python.exists() and self.shell.run([str(self.python), "-c", probe]).code == 0:
            return
        if self.folder.exists() and not (self.folder / "pyvenv.cfg").exists():
            raise SetupError(
                f"{self.folder} exists and is no Python environment: move it away and start again."
            )
        broken = self.folder.exists()
        say("Making the broken .venv anew" if broken else "Making the Python environment .venv")
        result = self.shell.run([sys.executable, "-m", "venv", "--clear", str(self.folder)])
        if result.code != 0:
            reason = (result.text.strip().splitlines() or ["no reason given"])[-1]
            raise SetupError(f"The Python environment could not be made in .venv: {reason}")

    def _install_torch(self) -> None:
        if self._has_torch():
            return
        index = os.environ.get(TORCH_INDEX_VARIABLE)
        where = ["--index-url", index] if index else []
        if self.build == "cpu":
            say("Installing torch for the CPU (about 200 MB to download)")
            result = self._pip(f"torch=={TORCH}+cpu", *where)
            if result.code == 0:
                return
            if not result.is_not_offered:
                raise self._failure(result)
            if sys.platform.startswith("linux"):
                say(
                    "No CPU-only torch is offered here, and no NVIDIA driver was found: installing "
                    "the build for both (about 3 GB to download). To avoid that, set "
                    f"{TORCH_INDEX_VARIABLE} to the address of PyTorch's own index for CPUs."
                )
        else:
            say("NVIDIA driver found: installing torch for it (about 3 GB to download)")
            if sys.platform == "win32" and not index:
                say(
                    "On Windows the general index has torch for the CPU only: set "
                    f"{TORCH_INDEX_VARIABLE} to the address of PyTorch's own index for CUDA to use "
                    "the GPU."
                )
            # "===" passes over a CPU-only build of the same version
            elif not index and self._pip(f"torch==={TORCH}").code == 0:
                return
        self._pip_or_fail(f"torch=={TORCH}", *where)

    def _has_torch(self) -> bool:
        """Whether the right version is there, of a build that fits the driver."""
        ask = "import importlib.metadata as m; print(m.version('torch'))"
        version = self.shell.run([str(self.python), "-c", ask]).text.strip()
        if version.partition("+")[0] != TORCH:
            return False
        return self.build == "cpu" or not version.endswith("+cpu")

    def _pip(self, *arguments: str) -> "PipResult":
        command = [str(self.python), "-m", "pip", "install", "--quiet", "--retries", "2"]
        command += ["--log", str(self._log)]
        command += ["--constraint", str(self.root / "packaging" / "constraints.txt")]
        result = self.shell.run([*command, *arguments], PIP_SETTINGS)
        return PipResult(result.code, result.text, arguments)

    def _pip_or_fail(self, *arguments: str) -> None:
        result = self._pip(*arguments)
        if result.code != 0:
            raise self._failure(result)

    def _failure(self, result: "PipResult") -> SetupError:
        return SetupError(f"{result.sentence()} The log is {self._log}.")


@dataclass(frozen=True, slots=True)
class PipResult:
    """How one call of pip ended."""

    code: int
    text: str
    arguments: Sequence[str]

    @property
    def is_not_offered(self) -> bool:
        """Whether the index was reached and does not have what was asked for."""
        unreachable = any(sign in self.text for sign in NETWORK_SIGNS)
        return "No matching distribution" in self.text and not unreachable

    def sentence(self) -> str:
        """Why it failed, for a person."""
        if "No space left on device" in self.text:
            return "The disk is full: make room and start again."
        if any(sign in self.text for sign in NETWORK_SIGNS):
            return "The package servers cannot be reached: connect to the network and start again."
        errors = [line for line in self.text.splitlines() if line.startswith("ERROR:")]
        reason = errors[-1].removeprefix("ERROR: ") if errors else f"exit code {self.code}"
        return f"pip could not install {self.arguments[-1]}: {reason.rstrip('.')}."
