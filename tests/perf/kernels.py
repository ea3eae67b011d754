"""Measures the native products on each instruction set of this machine, and prints one table.

    python tests/perf/kernels.py [--threads 1 2] [--rows 1 8 512]

GOP/s count multiplications and additions: of products of bytes in registers alone (``peak``), which
no matrix reaches, and of matrices with so many rows; GB/s are packed weights read, with one row from a set
of matrices that no cache holds. Each figure is the best of several runs: whatever else the
machine does can only make them worse.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from engine.kernels.library import NativeCore, instruction_sets, open_core
from engine.kernels.matrix import PackedMatrix, pack_int4, pack_int8

SHAPE = (2_048, 2_048)
SET_BYTES = 96 << 20
RUNS = 8
WITH_PRODUCTS = ("avx512", "avxvnni", "neon-i8mm", "neon")  # of bytes, in one instruction
PEAK_ROUNDS = 500_000


def best(work: Callable[[], object]) -> float:
    """Seconds of the fastest run."""
    seconds = []
    for _ in range(RUNS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def matrices(core: NativeCore) -> dict[str, PackedMatrix]:
    """One matrix of each kind."""
    n, k = SHAPE
    scales = torch.rand(n, k // 32)
    four = torch.randint(0, 16, SHAPE, dtype=torch.uint8)
    eight = torch.randint(-127, 128, SHAPE, dtype=torch.int8)
    return {
        "int4": pack_int4(core, four, scales, -8 * scales),
        "int8 groups": pack_int8(core, eight, scales),
        "int8 rows": pack_int8(core, eight, scales[:, 0].clone()),
    }


def read_rate(matrix: PackedMatrix, threads: int) -> float:
    """Bytes of weights a second with one row, out of main memory."""
    copies = [matrix]
    while len(copies) * matrix.nbytes < SET_BYTES:
        data = matrix.data.clone()
        struct = type(matrix.struct).from_buffer_copy(matrix.struct)
        struct.data = data.data_ptr()
        copies.append(PackedMatrix(matrix.core, struct, data))
    x = torch.randn(1, SHAPE[1])
    seconds = best(lambda: [copy.multiply(x, threads) for copy in copies])
    return len(copies) * matrix.nbytes / seconds


def peak_rate(core: NativeCore, threads: int) -> float:
    """Multiplications and additions of bytes a second, with nothing else to do."""
    counts: list[int] = []
    team = core.team(threads)
    seconds = best(lambda: counts.append(core.library.tt_dots(team, threads, PEAK_ROUNDS)))
    return counts[0] / seconds


def measure(name: str, threads: Sequence[int], rows: Sequence[int]) -> None:
    """Print the lines of one instruction set."""
    core = open_core(name)
    if core is None:
        return
    for count in threads if name in WITH_PRODUCTS else ():
        rate = peak_rate(core, count) / 1e9
        sys.stdout.write(f"{name:<10}{'peak':<13}{count:>3} threads{'':>13}{rate:>8.0f}\n")
    for kind, matrix in matrices(core).items():
        for count in threads:
            line = f"{name:<10}{kind:<13}{count:>3} threads{read_rate(matrix, count) / 1e9:>8.1f} GB/s"
            for m in rows:
                x = torch.randn(m, SHAPE[1])
                seconds = best(partial(matrix.multiply, x, count))
                line += f"{2 * m * SHAPE[0] * SHAPE[1] / seconds / 1e9:>8.0f}"
            sys.stdout.write(line + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, torch.get_num_threads()])
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 8, 64, 512])
    parser.add_argument(
        "--sets", nargs="+", default=[s for s in instruction_sets() if s != "portable"]
    )
    options = parser.parse_args()
    if not options.sets:
        sys.stderr.write("The native core was not built.\n")
        return 1
    sys.stdout.write(f"GOP/s at {', '.join(map(str, options.rows))} rows of {SHAPE[1]}\n")
    for name in options.sets:
        measure(name, options.threads, options.rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
