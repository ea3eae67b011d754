"""Measures transformers (eager, bf16, weights of the same GGUF file); one stream.

Run it with the python that has torch, transformers and gguf. Prints one JSON line with the same
meaning as ``python -m engine bench --json``.
"""

import argparse
import json
import os
import random
import sys
import time
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import torch
from transformers import AutoModelForCausalLM, DynamicCache

WARM_UP_NEW = 2


@torch.inference_mode()
def run(model, ids: torch.Tensor, new_tokens: int) -> tuple[float, float]:
    """Seconds of prefill and of decode."""
    cache = DynamicCache(config=model.config)
    start = time.perf_counter()
    logits = model(ids, cache=cache, use_cache=True, logits_to_keep=1).logits
    token = logits[:, -1:].argmax(-1)
    filled = time.perf_counter()
    for _ in range(new_tokens):
        token = model(token, cache=cache, use_cache=True).logits[:, -1:].argmax(-1)
    return filled - start, time.perf_counter() - filled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True, type=Path)
    for name in ("prompt-tokens", "new-tokens", "streams", "threads", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    if options.streams != 1:
        parser.error("one stream only")
    torch.set_num_threads(options.threads)
    model = AutoModelForCausalLM.from_pretrained(
        options.model.parent,
        gguf_file=options.model.name,
        dtype=torch.bfloat16,
        trust_remote_code=False,
    )
    rng = random.Random(options.seed)
    prompt = [rng.randrange(100, model.config.vocab_size) for _ in range(options.prompt_tokens)]
    ids = torch.tensor([prompt])
    run(model, ids, WARM_UP_NEW)
    prefill, decode = run(model, ids, options.new_tokens)
    result = {
        "prefill_tokens_per_s": options.prompt_tokens / prefill,
        "decode_tokens_per_s": options.new_tokens / decode,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
