"""The ceilings of this machine as they were measured, and the file they are kept in.

The file is named after the machine, the versions of torch and of this program, and the native
core's instruction set: whatever would change the figures. Imports no torch.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import platformdirs
import psutil

from engine.api import Precision
from engine.devices import cpu_name, physical_cores
from engine.kernels.library import instruction_sets

_HOME_VARIABLE = "TOKENTIDE_HOME"
VERSION = 2  # of the file and of the method


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What was measured, on the CPU or on a GPU.

    ``*_flops_per_s``: multiplications and additions with many rows; of the products by what the
    weights are kept as, and of attention. ``*_bytes_per_s``: bytes read with one row, of packed
    weights and of the cache. ``layer_s``: seconds of a step's layer that has next to nothing to
    compute, through torch; ``native_layer_s``: in the native core, where there is one; ``step_s``:
    of a step around its layers. ``host``: those of the computer around a GPU.
    """

    device: str
    threads: int
    read_bytes_per_s: float
    step_s: float
    layer_s: float
    native_layer_s: float
    attention_flops_per_s: float
    cache_bytes_per_s: float
    fp32_flops_per_s: float
    bf16_flops_per_s: float
    int8_flops_per_s: float
    int4_flops_per_s: float
    fp32_bytes_per_s: float
    bf16_bytes_per_s: float
    int8_bytes_per_s: float
    int4_bytes_per_s: float
    host: "Ceilings | None" = None

    def flops_per_s(self, precision: Precision) -> float:
        """The rate of prompts with weights of ``precision``, which is not AUTO."""
        return float(getattr(self, f"{precision.value}_flops_per_s"))

    def weight_bytes_per_s(self, precision: Precision) -> float:
        """How fast a decode step gets through weights of ``precision``, which is not AUTO."""
        own = float(getattr(self, f"{precision.value}_bytes_per_s"))
        return min(own, self.read_bytes_per_s)

    def of(self, *, is_cuda: bool) -> "Ceilings | None":
        """Those of the GPU, or of the CPU; None where that one was not measured."""
        return self if is_cuda == (self.device == "cuda") else self.host

    def as_json(self) -> dict[str, object]:
        """Plain values by name."""
        return asdict(self)


def cache_path(folder: Path | None = None) -> Path:
    """Where this machine's ceilings are kept: below ``folder``, else in the app's cache folder."""
    if folder is None:
        home = os.environ.get(_HOME_VARIABLE)
        folder = (
            Path(home).expanduser() / "cache"
            if home
            else platformdirs.user_cache_path("tokentide", appauthor=False)
        )
    return folder / f"roofline-{machine_key()}.json"


def path_for(threads: int) -> Path:
    """The file of as many threads as a model runs on; those of all cores have the plain name."""
    path = cache_path()
    if threads == physical_cores():
        return path
    return path.with_stem(f"{path.stem}-{threads}-threads")


def machine_key() -> str:
    """Sixteen letters that change with the machine, with torch and with the products run here."""
    parts = (
        VERSION,
        cpu_name(),
        physical_cores(),
        psutil.virtual_memory().total,
        _version_of("torch"),
        _version_of("tokentide"),
        instruction_sets()[:1],
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@cache  # reading it parses a file, and reports ask for the path every second
def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:  # run from a source tree
        return ""


def best_of(kept: Ceilings | None, measured: Ceilings) -> Ceilings:
    """The better of two measurements, figure by figure: a busy machine only hides its ceilings.

    ``kept`` counts only if it has the same device and threads.
    """
    if kept is None or (kept.device, kept.threads) != (measured.device, measured.threads):
        return measured
    better: dict[str, Any] = {}
    for field in fields(Ceilings):
        choose = max if field.name.endswith("_per_s") else min
        if field.name.endswith("_s"):
            better[field.name] = choose(getattr(kept, field.name), getattr(measured, field.name))
    host = None if measured.host is None else best_of(kept.host, measured.host)
    return replace(measured, host=host, **better)


def read_ceilings(path: Path) -> Ceilings | None:
    """What a file holds, or None where it is missing, damaged or of another version."""
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or values.pop("version", None) != VERSION:
        return None
    return ceilings_from(values)


def write_ceilings(ceilings: Ceilings, path: Path) -> None:
    """Keep them; a folder that cannot be written to only means measuring again."""
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"version": VERSION, **ceilings.as_json()}), "utf-8")
        part.replace(path)
    except OSError:
        return


def ceilings_from(values: Mapping[str, Any]) -> Ceilings | None:
    """The ceilings that ``as_json`` gave, or None where a value cannot be one."""
    names = {field.name for field in fields(Ceilings)}
    if set(values) != names or not isinstance(values["device"], str):
        return None
    host = values["host"]
    if host is not None:
        host = ceilings_from(host) if isinstance(host, dict) else None
        if host is None:
            return None
    if not all(_is_rate(values[name]) for name in names - {"device", "host"}):
        return None
    return Ceilings(**{**values, "host": host})


def _is_rate(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value > 0
