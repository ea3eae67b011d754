"""Measures OpenVINO GenAI on a GGUF file; one stream.

Run it with the python that has openvino-genai. Prints one JSON line with the same meaning as
``python -m engine bench --json``.
"""

import argparse
import json
import random
import sys

import numpy as np
import openvino
import openvino_genai as genai

VOCABULARY = 40_000  # tokens below are in every vocabulary measured here
WARM_UP_NEW = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    for name in ("prompt-tokens", "new-tokens", "streams", "threads", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    if options.streams != 1:
        parser.error("one stream only")
    scheduling = genai.SchedulerConfig()
    scheduling.enable_prefix_caching = False
    pipeline = genai.LLMPipeline(
        options.model,
        "CPU",
        INFERENCE_NUM_THREADS=options.threads,
        scheduler_config=scheduling,
    )
    rng = random.Random(options.seed)
    prompt = [rng.randrange(100, VOCABULARY) for _ in range(options.prompt_tokens)]
    ids = np.array([prompt], dtype=np.int64)

    def run(new_tokens: int) -> tuple[float, float]:
        """Seconds of prefill and of decode."""
        config = genai.GenerationConfig()
        config.max_new_tokens = new_tokens + 1
        config.ignore_eos = True
        config.apply_chat_template = False
        inputs = genai.TokenizedInputs(openvino.Tensor(ids), openvino.Tensor(np.ones_like(ids)))
        metrics = pipeline.generate(inputs, config).perf_metrics
        return metrics.get_ttft().mean / 1e3, metrics.get_tpot().mean / 1e3 * new_tokens

    run(WARM_UP_NEW)
    prefill, decode = run(options.new_tokens)
    result = {
        "prefill_tokens_per_s": options.prompt_tokens / prefill,
        "decode_tokens_per_s": options.new_tokens / decode,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
