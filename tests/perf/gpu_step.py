"""Decode steps on a graphics card: captured, kernel by kernel, and transformers with bitsandbytes.

    python -m tests.perf.gpu_step [--shape 1b] [--weights int4 bf16] [--kv bfloat16 int8 int4]
        [--streams 1 8] [--context 512] [--tokens 128] [--no-peer]

A Llama with random weights of a real shape is written to a folder, and read from it by both. Every
stream has a random prompt of ``--context`` tokens; then ``--tokens`` tokens are decoded greedily,
captured and not in turn, through the engine's own runner and sampler; scheduling and text are left
out. Each figure is the best of several rounds. The share is that of the bytes a step has to read
(weights without the embedding, K and V of all streams) at the rate at which this card reads memory,
measured first. The peer keeps K and V in the type it computes in. Needs a CUDA device.
"""

import argparse
import itertools
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch

from engine.api import Precision, SamplingParams
from engine.config import KVFormat, KVGeometry
from engine.kv.quantized import make_storage
from engine.model.captured.inputs import MOST_ROWS
from engine.model.hf_source import HfSource
from engine.model.native import NativeDecoder
from engine.roofline.stopwatch import Stopwatch
from engine.runner import Runner
from engine.sampling.sampler import Sampler
from engine.scheduling.plan import ScheduledChunk, StepPlan

NO_GPU = "This measures decode steps on a graphics card, and no CUDA device was found here."
# hidden, intermediate, layers, heads, heads of K and V
SHAPES = {
    "tiny": (128, 256, 2, 4, 2),
    "135m": (576, 1_536, 30, 9, 3),
    "1b": (2_048, 5_632, 22, 32, 4),
    "7b": (4_096, 11_008, 32, 32, 32),
}
VOCABULARY = 32_000
BLOCK = 16
CHUNK = 512
ROUNDS = 3
READ_BYTES = 1 << 30
PARAMS = SamplingParams(temperature=0.0, ignore_eos=True)


@dataclass(frozen=True)
class Task:
    """What is measured."""

    weights: Precision
    kept: KVFormat
    streams: int
    context: int
    tokens: int
    device: torch.device
    dtype: torch.dtype


@dataclass(frozen=True)
class Speed:
    """Tokens a second of all streams together, and bytes that a captured step has to read."""

    captured: float
    eager: float
    step_bytes: int
    fact: str


def write_model(folder: Path, shape: str, dtype: torch.dtype) -> None:
    """A Llama with random weights."""
    from transformers import LlamaConfig, LlamaForCausalLM  # noqa: PLC0415 - takes seconds

    hidden, intermediate, layers, heads, kv_heads = SHAPES[shape]
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=hidden,
        intermediate_size=intermediate,
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        max_position_embeddings=8_192,
        tie_word_embeddings=False,
        dtype=dtype,
    )
    LlamaForCausalLM(config).to(dtype).save_pretrained(folder)


def read_rate(device: torch.device, size: int = READ_BYTES) -> float:
    """Bytes a second."""
    values = torch.ones(size // 4, device=device)
    return values.nbytes / Stopwatch(device, torch.get_num_threads()).best([values.sum])


class Ours:
    """The engine's decoder, storage, runner and sampler."""

    def __init__(self, folder: Path, task: Task) -> None:
        self._task = task
        self.decoder = NativeDecoder.build(
            HfSource.open(folder), task.weights, task.dtype, task.device, _ignore, bool
        )
        self.decoder.set_context(task.context + task.tokens)
        config = self.decoder.config
        self._per_stream = -(-(task.context + task.tokens) // BLOCK)
        blocks = self._per_stream * task.streams
        self.geometry = KVGeometry(
            config.num_layers, config.num_kv_heads, config.head_dim, BLOCK, blocks, task.kept
        )
        storage = make_storage(self.geometry, task.device)
        self._runner = Runner(self.decoder, storage, Sampler())
        self._captured = self.decoder._captured

    def speed(self) -> Speed:
        """Fill the cache, then decode in turn with and without captured steps."""
        for stream in range(self._task.streams):
            ids = torch.randint(VOCABULARY, (self._task.context,)).tolist()
            for start in range(0, len(ids), CHUNK):
                self._run([self._chunk(stream, start, ids[start : start + CHUNK])])
        seconds: dict[bool, float] = {}
        for is_captured in (True, False) * ROUNDS:
            self.decoder.capture_with(self._captured if is_captured else None)
            taken = self._decode()
            seconds[is_captured] = min(taken, seconds.get(is_captured, taken))
        count = self._task.streams * self._task.tokens
        read = self.decoder.weights_bytes - self.decoder._embedding.nbytes
        tokens = self._task.streams * (self._task.context + self._task.tokens // 2)
        return Speed(
            count / seconds[True],
            count / seconds[False],
            read + tokens * self.geometry.bytes_per_token,
            "not captured" if self._captured is None else self._captured.fact,
        )

    def _decode(self) -> float:
        """Seconds of all tokens but the first few."""
        task, last = self._task, [7] * self._task.streams
        start = time.perf_counter()
        for step in range(-3, task.tokens):
            if step == 0:
                start = time.perf_counter()
            at = task.context + max(0, step)
            last = self._run([self._chunk(s, at, [last[s]]) for s in range(task.streams)])
        return time.perf_counter() - start

    def _run(self, chunks: Sequence[ScheduledChunk]) -> list[int]:
        sampled = self._runner.run(StepPlan(tuple(chunks)), bool).sampled
        return [sampled[chunk.request_id][-1] for chunk in chunks]

    def _chunk(self, stream: int, start: int, ids: Sequence[int]) -> ScheduledChunk:
        first, count = stream * self._per_stream, -(-(start + len(ids)) // BLOCK)
        blocks = tuple(range(first, first + count))
        return ScheduledChunk(str(stream), tuple(ids), start, blocks, 1, PARAMS, 0, 0, ())


@torch.inference_mode()
def peer_speed(folder: Path, task: Task) -> float:
    """Tokens a second of transformers, its 4-bit products those of bitsandbytes."""
    from transformers import (  # noqa: PLC0415 - takes seconds
        AutoModelForCausalLM,
        BitsAndBytesConfig,
        DynamicCache,
    )

    four_bit = BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=task.dtype
    )
    model = AutoModelForCausalLM.from_pretrained(
        folder,
        dtype=task.dtype,
        device_map={"": task.device},
        quantization_config=four_bit if task.weights is Precision.INT4 else None,
        trust_remote_code=False,
    )
    best = float("inf")
    for _ in range(ROUNDS):
        cache = DynamicCache(config=model.config)
        ids = torch.randint(VOCABULARY, (task.streams, task.context), device=task.device)
        token = model(ids, cache=cache, use_cache=True, logits_to_keep=1).logits.argmax(-1)
        start = time.perf_counter()
        for step in range(-3, task.tokens):
            if step == 0:
                token.tolist()
                start = time.perf_counter()
            token = model(token, cache=cache, use_cache=True).logits[:, -1:].argmax(-1)
        token.tolist()
        best = min(best, time.perf_counter() - start)
    return task.streams * task.tokens / best


def measure(folder: Path, task: Task, bytes_per_s: float, *, with_peer: bool) -> str:
    """One line of the table."""
    speed = Ours(folder, task).speed()
    rate = speed.captured / task.streams * speed.step_bytes
    peer = f"{peer_speed(folder, task):>14,.0f}" if with_peer else f"{'-':>14}"
    return (
        f"{task.weights.value:<9}{task.kept.value:<10}{task.streams:>7}{speed.captured:>12,.0f}"
        f"{speed.eager:>10,.0f}{speed.captured / speed.eager:>7.2f}x"
        f"{rate / bytes_per_s:>9.0%}{peer}   {speed.fact}"
    )


def _ignore(done: int, total: int) -> None:
    del done, total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", choices=SHAPES, default="1b")
    parser.add_argument("--weights", nargs="+", default=["int4", "bf16"])
    parser.add_argument("--kv", nargs="+", default=["bfloat16", "int8", "int4"])
    parser.add_argument("--streams", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--context", type=int, default=512)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--no-peer", action="store_true")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        sys.stderr.write(f"{NO_GPU}\n")
        return 1
    if max(options.streams) > MOST_ROWS:
        parser.error(f"at most {MOST_ROWS} streams are captured")
    device = torch.device("cuda")
    dtype = torch.bfloat16 if torch.cuda.get_device_capability() >= (8, 0) else torch.float16
    bytes_per_s = read_rate(device)
    sys.stdout.write(f"{torch.cuda.get_device_name()}, reads {bytes_per_s / 1e9:,.0f} GB/s\n")
    sys.stdout.write(f"{options.shape}, {options.context} tokens before; tokens a second\n")
    sys.stdout.write(
        "weights  K and V   streams    captured     eager    gain    share  transformers\n"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_model(folder, options.shape, dtype)
        rows = itertools.product(
            map(Precision, options.weights), options.streams, map(KVFormat, options.kv)
        )
        for weights, streams, kept in rows:
            sizes = streams, options.context, options.tokens
            task = Task(weights, kept, *sizes, device, dtype)
            with_peer = not options.no_peer and kept.value == options.kv[0]
            line = measure(folder, task, bytes_per_s, with_peer=with_peer)
            sys.stdout.write(f"{line}\n")
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
