"""The ceilings of this machine, measured: never a figure from a datasheet.

How fast memory is read, how fast each product multiplies the rows of a prompt and reads its
weights for one row, and what a call costs however little it does. The products are the engine's
own. Every figure is the best of several short runs, because a busy machine only ever makes them
worse. The result is kept in a file named after the machine and the version of torch.

torch is imported when something is measured.
"""

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import psutil

from engine.api import Precision
from engine.devices import cpu_name, physical_cores

if TYPE_CHECKING:
    from engine.quant.layout import Weight

_HOME_VARIABLE = "TOKENTIDE_HOME"
_VERSION = 1  # of the file and of the method
_RUNS = 4
_BUFFER_BYTES = 512 << 20  # several times any last-level cache
_MATRIX = 2_048  # [2048, 2048]
_ROWS = 512  # of a prompt: the engine's chunk
_ROW_SET_BYTES = 96 << 20  # weights gone through with one row, so that no cache holds them
_CALLS = 100


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What was measured, on the CPU or on a GPU.

    ``*_flops_per_s``: multiplications and additions with many rows. ``*_bytes_per_s``: bytes of
    packed weights read with one row. ``call_s``: seconds of a small tensor operation.
    """

    device: str
    threads: int
    read_bytes_per_s: float
    call_s: float
    fp32_flops_per_s: float
    bf16_flops_per_s: float
    int8_flops_per_s: float
    int4_flops_per_s: float
    fp32_bytes_per_s: float
    bf16_bytes_per_s: float
    int8_bytes_per_s: float
    int4_bytes_per_s: float

    def flops_per_s(self, precision: Precision) -> float:
        """The rate of prompts with weights of ``precision``, which is not AUTO."""
        return float(getattr(self, f"{precision.value}_flops_per_s"))

    def weight_bytes_per_s(self, precision: Precision) -> float:
        """How fast a decode step gets through weights of ``precision``, which is not AUTO."""
        own = float(getattr(self, f"{precision.value}_bytes_per_s"))
        return min(own, self.read_bytes_per_s)

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


def machine_key() -> str:
    """Sixteen letters that change with the processor, its cores, the memory or torch."""
    from importlib.metadata import version  # noqa: PLC0415 - reads the disk

    parts = (
        _VERSION,
        cpu_name(),
        physical_cores(),
        psutil.virtual_memory().total,
        version("torch"),
    )
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


def ceilings_of(path: Path | None = None, threads: int | None = None) -> Ceilings:
    """The ceilings kept at ``path`` (default: ``cache_path()``), measured now if there are none.

    A file that cannot be used is measured anew; one that cannot be written is not.
    """
    path = path or cache_path()
    kept = read_ceilings(path)
    if kept is not None and threads in {None, kept.threads}:
        return kept
    measured = measure(threads)
    write_ceilings(measured, path)
    return measured


def best_of(kept: Ceilings | None, measured: Ceilings) -> Ceilings:
    """The better of two measurements, figure by figure: a busy machine only hides its ceilings.

    ``kept`` counts only if it has the same device and threads.
    """
    if kept is None or (kept.device, kept.threads) != (measured.device, measured.threads):
        return measured
    rates = [field.name for field in fields(Ceilings) if field.name.endswith("_per_s")]
    better = {name: max(getattr(kept, name), getattr(measured, name)) for name in rates}
    return replace(measured, call_s=min(kept.call_s, measured.call_s), **better)


def read_ceilings(path: Path) -> Ceilings | None:
    """What a file holds, or None where it is missing, damaged or of another version."""
    try:
        values = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(values, dict) or values.pop("version", None) != _VERSION:
        return None
    return _checked(values)


def write_ceilings(ceilings: Ceilings, path: Path) -> None:
    """Keep them; a folder that cannot be written to only means measuring again."""
    part = path.with_suffix(f".{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part.write_text(json.dumps({"version": _VERSION, **ceilings.as_json()}), "utf-8")
        part.replace(path)
    except OSError:
        return


def _checked(values: Mapping[str, Any]) -> Ceilings | None:
    names = {field.name for field in fields(Ceilings)}
    if set(values) != names or not isinstance(values["device"], str):
        return None
    for name in names - {"device"}:
        value = values[name]
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        if not (math.isfinite(value) and value > 0):
            return None
    return Ceilings(**values)


def measure(threads: int | None = None) -> Ceilings:
    """Measure: a few seconds, and half a gigabyte for a moment. Sets torch's threads back."""
    import torch  # noqa: PLC0415 - takes seconds, and plans may come from a file

    before = torch.get_num_threads()
    threads = threads or physical_cores()
    torch.set_num_threads(threads)
    try:
        with torch.inference_mode():
            return _Bench(threads).run()
    finally:
        torch.set_num_threads(before)


class _Bench:
    """The measurements, on the GPU where torch finds one."""

    def __init__(self, threads: int) -> None:
        import torch  # noqa: PLC0415 - takes seconds

        self._threads = threads
        self._is_cuda = torch.cuda.is_available()
        self._device = torch.device("cuda" if self._is_cuda else "cpu")

    def run(self) -> Ceilings:
        """Everything, from the quickest to the slowest."""
        values = {"call_s": self._call(), "read_bytes_per_s": self._read()}
        for precision in (Precision.FP32, Precision.BF16, Precision.INT8, Precision.INT4):
            flops, rate = self._product(precision)
            values[f"{precision.value}_flops_per_s"] = flops
            values[f"{precision.value}_bytes_per_s"] = rate
        return Ceilings(device=self._device.type, threads=self._threads, **values)

    def _best(self, works: Sequence[Callable[[], object]], runs: int = _RUNS) -> float:
        """Seconds of one of ``works``, all alike, at its fastest; one round is not counted.

        On the CPU each is timed by itself: where threads wait for a core, most are slow and some
        are not. On a GPU a whole round is timed, since a single one is shorter than its start.
        """
        for work in works:
            work()
        if self._is_cuda:
            return max(1e-9, min(self._time(works) for _ in range(runs)) / len(works))
        return max(1e-9, min(self._time((work,)) for _ in range(runs) for work in works))

    def _best_reading(self, works: Sequence[Callable[[], object]]) -> float:
        """As ``_best``, of all threads and of one, for work that waits for memory.

        Where another program has a core, all threads wait for the slowest; one alone then reads
        faster, and no idle machine is slower than that.
        """
        import torch  # noqa: PLC0415 - already imported

        best = self._best(works)
        if self._is_cuda or self._threads == 1:
            return best
        torch.set_num_threads(1)
        try:
            return min(best, self._best(works))
        finally:
            torch.set_num_threads(self._threads)

    def _time(self, works: Sequence[Callable[[], object]]) -> float:
        self._wait()
        start = time.perf_counter()
        for work in works:
            work()
        self._wait()
        return time.perf_counter() - start

    def _wait(self) -> None:
        if self._is_cuda:
            import torch  # noqa: PLC0415 - already imported

            torch.cuda.synchronize()

    def _call(self) -> float:
        import torch  # noqa: PLC0415 - already imported

        a, b = torch.ones(1, 64, device=self._device), torch.ones(1, 64, device=self._device)

        def calls() -> None:
            for _ in range(_CALLS):
                torch.add(a, b)

        return self._best([calls]) / _CALLS

    def _read(self) -> float:
        import torch  # noqa: PLC0415 - already imported

        room = psutil.virtual_memory().available // 4
        size = max(1 << 20, min(_BUFFER_BYTES, room))
        rows = torch.ones(size // 4 // _MATRIX, _MATRIX, device=self._device)
        row = torch.ones(_MATRIX, device=self._device)
        # a sum and a product both read everything once; which is faster depends on the machine
        works = (rows.sum, partial(torch.mv, rows, row))
        return rows.nbytes / min(self._best_reading([work]) for work in works)

    def _product(self, precision: Precision) -> tuple[float, float]:
        """Arithmetic a second with many rows, and weight bytes a second with one."""
        import torch  # noqa: PLC0415 - already imported

        from engine.devices import has_native_bf16  # noqa: PLC0415 - imports torch
        from engine.quant.linear import make_linear  # noqa: PLC0415 - imports torch

        is_narrow = precision is Precision.BF16 and has_native_bf16()
        is_narrow |= self._is_cuda and precision is not Precision.FP32
        compute = torch.bfloat16 if is_narrow else torch.float32
        weight = _weight(precision)
        linear = make_linear(weight, precision, compute, self._device)
        rows = torch.ones(_ROWS, _MATRIX, dtype=compute, device=self._device)
        flops = 2 * _ROWS * _MATRIX * _MATRIX / self._best([partial(linear, rows)])
        copies = max(2, _ROW_SET_BYTES // linear.nbytes)
        linears = [linear]
        linears += [
            make_linear(_copy(weight), precision, compute, self._device) for _ in range(copies - 1)
        ]
        seconds = self._best_reading([partial(each, rows[:1]) for each in linears])
        return flops, linear.nbytes / seconds


def _copy(weight: "Weight") -> "Weight":
    """The same values in other memory; only dense ones would be shared as they are."""
    from engine.quant.layout import DenseWeight  # noqa: PLC0415 - imports torch

    return DenseWeight(weight.values.clone()) if isinstance(weight, DenseWeight) else weight


def _weight(precision: Precision) -> "Weight":
    """A square matrix in the canonical form that ``precision`` is packed from."""
    import torch  # noqa: PLC0415 - already imported

    from engine.quant.layout import DenseWeight  # noqa: PLC0415 - imports torch
    from engine.quant.quantize import to_channel_int8, to_grouped_int4  # noqa: PLC0415 - as above

    values = torch.randn(_MATRIX, _MATRIX, generator=torch.Generator().manual_seed(0))
    match precision:
        case Precision.INT8:
            return to_channel_int8(DenseWeight(values))
        case Precision.INT4:
            return to_grouped_int4(DenseWeight(values))
        case _:
            return DenseWeight(values)
