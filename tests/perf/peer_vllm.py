"""Measures vLLM on the CPU in bf16, on the weights of a GGUF file; any number of streams.

Run it with the python that has vllm. Takes a folder of safetensors, which ``--folder`` names or
which stands beside the GGUF file under its name without the ending. Prints one JSON line with the
same meaning as ``python -m engine bench --json``.
"""

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path

VOCABULARY = 40_000  # tokens below are in every vocabulary measured here
CACHE_GB = "2"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, type=Path)
    parser.add_argument("--folder", type=Path)
    for name in ("prompt-tokens", "new-tokens", "streams", "threads", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    os.environ.update(
        VLLM_CPU_KVCACHE_SPACE=CACHE_GB,
        VLLM_CPU_OMP_THREADS_BIND=f"0-{options.threads - 1}",
        VLLM_LOGGING_LEVEL="ERROR",
        HF_HUB_OFFLINE="1",
    )
    from vllm import LLM, SamplingParams  # noqa: PLC0415  reads the environment at its import

    model = LLM(
        str(options.folder or options.model.with_suffix("")),
        dtype="bfloat16",
        max_model_len=options.prompt_tokens + options.new_tokens + 16,
        max_num_seqs=options.streams,
        enable_prefix_caching=False,
    )
    rng = random.Random(options.seed)
    prompts = [
        {
            "prompt_token_ids": [
                rng.randrange(100, VOCABULARY) for _ in range(options.prompt_tokens)
            ]
        }
        for _ in range(options.streams)
    ]

    def run(new_tokens: int) -> float:
        """Seconds for all streams."""
        params = SamplingParams(max_tokens=new_tokens, ignore_eos=True, temperature=0)
        start = time.perf_counter()
        model.generate(prompts, params, use_tqdm=False)
        return time.perf_counter() - start

    run(2)
    prefill = run(1)
    decode = run(options.new_tokens + 1) - prefill
    result = {
        "prefill_tokens_per_s": options.streams * options.prompt_tokens / prefill,
        "decode_tokens_per_s": options.streams * options.new_tokens / decode,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
