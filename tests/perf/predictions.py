"""Predicted speed against measured speed, one table: run it where nothing else runs.

    python tests/perf/predictions.py MODEL:WEIGHTS ... [--rounds 3] [--shape]

For example ``smollm2.gguf:int4 smollm2.gguf:int8 gemma.gguf:int8``. ``--shape`` adds a model of
random weights with the shape of a Llama of 1.1 billion parameters, in INT8 (needs 5 GB of disk for
a while). In each round the ceilings and then every model are measured; the best of all rounds
counts on both sides, since whatever else the machine does can only make them worse.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import torch

from engine.api import Device, Precision
from engine.planner.find import find_blueprint
from engine.planner.machine import look_at_machine
from engine.planner.plan import plan
from engine.planner.wish import Wish
from engine.roofline.ceilings import Ceilings, best_of
from engine.roofline.measuring import measure
from tests.helpers.family_folders import BASE, write_family

ROOT = Path(__file__).resolve().parents[2]
PROMPT, NEW = 512, 128
SHAPE = {
    **BASE,
    "model_type": "llama",
    "vocab_size": 32_000,
    "hidden_size": 2_048,
    "intermediate_size": 5_632,
    "num_hidden_layers": 22,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "max_position_embeddings": 2_048,
    "tie_word_embeddings": False,
}


@dataclass(slots=True)
class Case:
    """A model at one precision, and the best it has been seen to do."""

    path: Path
    weights: str
    decode: float = 0.0
    prefill: float = 0.0

    def run(self, threads: int) -> None:
        """Measure once more."""
        words = ["--model", str(self.path), "--weights", self.weights, "--threads", str(threads)]
        sizes = ["--prompt-tokens", str(PROMPT), "--new-tokens", str(NEW)]
        done = subprocess.run(
            [sys.executable, "-m", "engine", "bench", *words, *sizes, "--json"],
            cwd=ROOT,
            capture_output=True,
            encoding="utf-8",
            check=False,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        if done.returncode:
            sys.stderr.write(f"{self.path.name} {self.weights} failed:\n{done.stderr[-500:]}\n")
            return
        result = json.loads(done.stdout.splitlines()[-1])
        self.decode = max(self.decode, result["decode_tokens_per_s"])
        self.prefill = max(self.prefill, result["prefill_tokens_per_s"])

    def row(self, ceilings: Ceilings) -> str:
        """Predicted, measured and their ratio, of decoding and of the prompt."""
        blueprint, machine = find_blueprint(self.path), look_at_machine(Device.AUTO)
        # a step of the middle of the answer; a prompt whose mean token sees half of it
        decode, prefill = (
            plan(blueprint, Wish(Precision(self.weights), context=n), machine, ceilings)
            for n in (PROMPT + NEW // 2, PROMPT)
        )
        pairs = (
            (decode.predicted_decode_tokens_per_s, self.decode),
            (prefill.predicted_prefill_tokens_per_s, self.prefill),
        )
        cells = [
            f"{predicted or 0:>10.1f} {measured:>10.1f} {(predicted or 0) / (measured or 1):>6.2f}"
            for predicted, measured in pairs
        ]
        return f"{self.path.name[:34]:<34} {self.weights:<5} {'  '.join(cells)}"


def main() -> None:
    """Measure in turn, then print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", metavar="MODEL:WEIGHTS")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, help="default: the physical cores")
    parser.add_argument("--shape", action="store_true", help="a random Llama of 1.1 billion")
    options = parser.parse_args()
    cases = []
    for text in options.models:
        path, _, weights = text.rpartition(":")
        cases.append(Case(Path(path), weights))
    with tempfile.TemporaryDirectory() as folder:
        if options.shape:
            cases.append(Case(write_family(Path(folder) / "llama-1.1b", SHAPE), "int8"))
        ceilings = None
        for _ in range(options.rounds):
            ceilings = best_of(ceilings, measure(options.threads))
            for case in cases:
                case.run(ceilings.threads)
        if ceilings is None:
            return
        titles = "  ".join(
            f"{name:>10} {'measured':>10} {'ratio':>6}" for name in ("decode", "prefill")
        )
        sys.stdout.write(f"{'model':<34} {'':<5} {titles}" + "\n")
        for case in cases:
            sys.stdout.write(case.row(ceilings) + "\n")
        sys.stdout.write(f"torch {torch.__version__}, {ceilings.threads} threads, tokens/s" + "\n")


if __name__ == "__main__":
    main()
