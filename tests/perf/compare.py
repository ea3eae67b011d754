"""Measures the engine and its peers in turn and prints one table with ratios.

    python tests/perf/compare.py --model MODEL.gguf --peers DIR [--weights int4 int8] [--rounds 3]
                                 [--json FILE]

DIR holds one virtual environment a peer (``llamacpp``, ``openvino``, ``vllm``,
``transformers``); those that are there are measured (``--only`` names some), where they can: two
take one stream alone, and vLLM wants a safetensors folder beside the file, named like it. All run in turn in each round, so that what else the machine does hits all alike;
the table shows medians, and ratios to the first product row. Only the ratios mean anything on
another machine. Exits with 1 when the product fails; a peer that fails is said and left out.
``--json`` keeps the medians in a file, for ``tests/perf/chart.py``.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RATES = ("prefill_tokens_per_s", "decode_tokens_per_s")
PEERS = ("llamacpp", "openvino", "vllm", "transformers")
ONE_STREAM = ("openvino", "transformers")


@dataclass(slots=True)
class Contender:
    """A command that prints one JSON line, and what it printed in each round."""

    name: str
    command: list[str]
    is_peer: bool
    results: list[dict[str, Any]] = field(default_factory=list)

    def run(self) -> None:
        """Run once; a product's failure ends the comparison, a peer's failure is said."""
        done = subprocess.run(
            self.command,
            cwd=ROOT,
            capture_output=True,
            encoding="utf-8",
            check=False,
            env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )
        if done.returncode == 0:
            self.results.append(json.loads(done.stdout.splitlines()[-1]))
            return
        sys.stderr.write(f"{self.name} failed:\n{done.stderr[-2_000:]}\n")
        if not self.is_peer:
            sys.exit(1)

    def median(self, rate: str) -> float:
        """The middle of all rounds."""
        return statistics.median(result[rate] for result in self.results)


def contenders(options: argparse.Namespace) -> list[Contender]:
    """The product at each precision, then the peers that are there."""
    sizes = [
        "--model", str(options.model.resolve()),
        "--prompt-tokens", str(options.prompt_tokens),
        "--new-tokens", str(options.new_tokens),
        "--streams", str(options.streams),
        "--threads", str(options.threads),
        "--seed", str(options.seed),
    ]  # fmt: skip
    found = [
        Contender(
            f"engine {weights}",
            [sys.executable, "-m", "engine", "bench", *sizes, "--weights", weights, "--json"],
            is_peer=False,
        )
        for weights in options.weights
    ]
    for name in options.only:
        python = _python_of(options.peers / name)
        if python is None or (name in ONE_STREAM and options.streams > 1):
            continue
        if name == "vllm" and not options.model.with_suffix("").is_dir():
            continue
        script = str(HERE / f"peer_{name}.py")
        found.append(Contender(name, [str(python), script, *sizes], is_peer=True))
    return found


def _python_of(environment: Path) -> Path | None:
    candidates = (environment / "bin" / "python", environment / "Scripts" / "python.exe")
    return next((path for path in candidates if path.exists()), None)


def table(found: list[Contender]) -> str:
    """One line a contender: medians, and their ratio to the first line."""
    ran = [contender for contender in found if contender.results]
    first = ran[0]
    lines = [f"{'':<14}{'prefill/s':>12}{'ratio':>8}{'decode/s':>12}{'ratio':>8}{'rounds':>8}"]
    for contender in ran:
        cells = ""
        for rate in RATES:
            value = contender.median(rate)
            cells += f"{value:>12.1f}{value / first.median(rate):>8.2f}"
        lines.append(f"{contender.name:<14}{cells}{len(contender.results):>8}")
    lines += [line for contender in ran if (line := shares(contender))]
    return "\n".join(lines)


def ceiling_shares(contender: Contender) -> dict[str, float]:
    """What the speeds are of the machine's ceilings; empty where these were never measured."""
    found = [share for r in contender.results if (share := r.get("share_of_ceiling"))]
    return {name: statistics.median(r[name] for r in found) for name in found[0]} if found else {}


def shares(contender: Contender) -> str:
    """The same in words."""
    parts = [f"{name} {share:.0%}" for name, share in ceiling_shares(contender).items()]
    return f"{contender.name}, of the ceilings: {', '.join(parts)}" if parts else ""


def as_json(found: list[Contender], options: argparse.Namespace) -> dict[str, Any]:
    """What was measured, and how: medians of the rounds, in the order of the table."""
    return {
        "model": options.model.stem,
        "prompt_tokens": options.prompt_tokens,
        "new_tokens": options.new_tokens,
        "streams": options.streams,
        "threads": options.threads,
        "contenders": [
            {
                "name": contender.name,
                "is_peer": contender.is_peer,
                "rounds": len(contender.results),
                **{rate: contender.median(rate) for rate in RATES},
                "share_of_ceiling": ceiling_shares(contender),
            }
            for contender in found
            if contender.results
        ],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="a .gguf file")
    parser.add_argument("--peers", type=Path, required=True, help="folder of environments")
    parser.add_argument("--only", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument("--weights", nargs="+", default=["int4", "int8"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="a file for the medians")
    cores = psutil.cpu_count(logical=False) or os.cpu_count() or 1
    for name, default in (
        ("prompt-tokens", 512),
        ("new-tokens", 128),
        ("streams", 1),
        ("threads", cores),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    found = contenders(options)
    for round_number in range(1, options.rounds + 1):
        for contender in found:
            sys.stderr.write(f"round {round_number}: {contender.name}\n")
            contender.run()
    title = f"{options.model.name}: {options.streams} x {options.prompt_tokens} prompt tokens"
    title += f", {options.new_tokens} new, {options.threads} threads"
    sys.stdout.write(f"{title}\n{table(found)}\n")
    if options.json is not None:
        text = json.dumps(as_json(found, options), indent=1)
        options.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
