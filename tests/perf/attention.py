"""Times the native attention over a paged cache, apart from the products around it.

    python tests/perf/attention.py [--rows 1 44] [--context 512 8000] [--kv int8] [--streams 1]

Layers in SmolLM2's shape by default, with random weights and a cache of random K and V. GOP/s count
the multiplications and additions of scores and mixing. The cache's blocks lie in order unless
``--scattered``. Each figure is the best of several steps: whatever else the machine does can only
make them worse. With ``--threads 1`` it is processor time, which stands a busy machine.
"""

import argparse
import sys
import time
from array import array
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from engine.api.profile import Part
from engine.config import KVFormat, KVGeometry
from engine.kernels.decode_step import (
    DecodeStep,
    LayerParts,
    ModelParts,
    RotaryRows,
    StepBatch,
    StepCache,
    StepSegment,
)
from engine.kernels.library import NativeCore, open_core
from engine.kernels.matrix import PackedMatrix, pack_int8
from engine.kv.quantized import QuantizedStorage, make_storage

SECONDS: Final = 1.5  # of trying again, at least
RUNS: Final = 12
HIDDEN: Final = 64  # the products around it are kept small
BLOCK: Final = 16
PARTS: Final = tuple(Part)


def matrix(core: NativeCore, rows: int, columns: int) -> PackedMatrix:
    """Random weights."""
    codes = torch.randint(-127, 128, (rows, columns), dtype=torch.int8)
    return pack_int8(core, codes, torch.full((rows,), 0.002))


def model(core: NativeCore, options: argparse.Namespace) -> ModelParts:
    """Layers that are attention for the most part."""
    heads, kv_heads, width = options.heads, options.kv_heads, options.head_dim
    layer = LayerParts(
        qkv=matrix(core, (heads + 2 * kv_heads) * width, HIDDEN),
        o=matrix(core, HIDDEN, heads * width),
        gate_up=matrix(core, 2 * HIDDEN, HIDDEN),
        down=matrix(core, HIDDEN, HIDDEN),
        attention_norm=torch.ones(HIDDEN),
        ffn_norm=torch.ones(HIDDEN),
    )
    return ModelParts(
        layers=[layer] * options.layers,
        norm=torch.ones(HIDDEN),
        head=matrix(core, 64, HIDDEN),
        num_heads=heads,
        num_kv_heads=kv_heads,
        head_dim=width,
        rotary_half=width // 2,
        activation="silu",
        norm_eps=1e-5,
        attention_scale=width**-0.5,
    )


def cache(kept: KVFormat, num_blocks: int, options: argparse.Namespace) -> StepCache:
    """A cache full of random K and V."""
    geometry = KVGeometry(
        num_layers=options.layers,
        num_kv_heads=options.kv_heads,
        head_dim=options.head_dim,
        block_size=BLOCK,
        num_blocks=num_blocks,
        format=kept,
    )
    storage = make_storage(geometry, torch.device("cpu"))
    slots = torch.arange(num_blocks * BLOCK)
    shape = (slots.shape[0], 2 * options.kv_heads, options.head_dim)
    for layer in range(options.layers):
        storage.append(layer, slots, torch.randn(shape).to(storage.dtype))
    if not isinstance(storage, QuantizedStorage):
        return StepCache(kept, storage.pool, None, slots.shape[0], BLOCK)
    return StepCache(
        kept,
        storage.codes,
        storage.parameters,
        slots.shape[0],
        BLOCK,
        factors=storage.factors,
        centres=storage.centres,
    )


def batch_of(
    rows: int, context: int, table: "array[int]", options: argparse.Namespace
) -> StepBatch:
    """``rows`` new tokens of each stream, over ``context`` of its own."""
    streams, width = options.streams, options.head_dim
    each = -(-(context + rows) // BLOCK)
    order = list(range(streams * each))
    if options.scattered:
        order = torch.randperm(len(order), generator=torch.Generator().manual_seed(0)).tolist()
    segments, slots = [], []
    for stream in range(streams):
        blocks = tuple(order[stream * each : (stream + 1) * each])
        segments.append(StepSegment(stream * rows, rows, context, blocks))
        slots += [blocks[t // BLOCK] * BLOCK + t % BLOCK for t in range(context, context + rows)]
    cosines = torch.ones(context + rows, width // 2)
    return StepBatch(
        embedded=torch.randn(streams * rows, HIDDEN),
        positions=torch.arange(context, context + rows).repeat(streams),
        slots=torch.tensor(slots),
        logit_rows=torch.arange(streams),
        segments=segments,
        rotations=[RotaryRows(cosines, torch.zeros_like(cosines))],
        part_ns=table.buffer_info()[0],
    )


def seconds(step: DecodeStep, batch: StepBatch, kept: StepCache, table: "array[int]") -> float:
    """What attention takes in the fastest step.

    With one thread the processor's time of the whole step, of which attention is nearly all.
    """
    threads = torch.get_num_threads()
    best = float("inf")
    place = PARTS.index(Part.ATTENTION)
    began, runs = time.perf_counter(), 0
    while runs < RUNS or time.perf_counter() - began < SECONDS:
        runs += 1
        table[:] = array("q", bytes(8 * len(table)))
        start = time.thread_time()
        step.run(batch, kept, threads, lambda: False)
        spent = time.thread_time() - start
        waited = sum(table[place :: len(PARTS)]) / 1e9
        best = min(best, spent if threads == 1 else waited)
    return best


def line(rows: int, context: int, spent: float, options: argparse.Namespace) -> str:
    """One row of the table."""
    keys = rows * context + rows * (rows + 1) // 2
    heads = options.heads * options.layers * options.streams
    rate = 4 * keys * options.head_dim * heads / spent / 1e9
    return f"{rows:5d} {context:8d} {1e3 * spent:9.3f} ms {rate:7.0f} GOP/s\n"


def measure(core: NativeCore, kept: KVFormat, options: argparse.Namespace) -> None:
    """Print the lines of one format of the cache."""
    step = DecodeStep(core, model(core, options))
    for context in options.context:
        most = -(-(context + max(options.rows)) // BLOCK) * options.streams
        full = cache(kept, most, options)
        for rows in options.rows:
            table = array("q", bytes(8 * (options.layers + 1) * len(PARTS)))
            batch = batch_of(rows, context, table, options)
            spent = seconds(step, batch, full, table)
            sys.stdout.write(line(rows, context, spent, options))
            sys.stdout.flush()


def main() -> int:
    """Time all combinations asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1, 44])
    parser.add_argument("--context", type=int, nargs="+", default=[512, 3_100, 8_000])
    parser.add_argument("--kv", nargs="+", default=["int8"], choices=list(KVFormat))
    parser.add_argument("--set", nargs="+", help="instruction sets", default=[None])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    for name, usual in (("heads", 9), ("kv-heads", 3), ("head-dim", 64), ("layers", 30)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--streams", type=int, default=1)
    parser.add_argument("--scattered", action="store_true", help="blocks in no order")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name in options.set:
        core = open_core(name)
        if core is None:
            sys.stderr.write("The native core was not built.\n")
            return 1
        for kind in options.kv:
            sys.stdout.write(f"{core.instruction_set} {kind}: rows, context, attention\n")
            measure(core, KVFormat(kind), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
