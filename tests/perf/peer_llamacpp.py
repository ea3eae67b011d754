"""Measures llama.cpp on a GGUF file; run it with the python that has llama-cpp-python.

Prints one JSON line with the same meaning as ``python -m engine bench --json``.
"""

import argparse
import json
import random
import sys
import time

import llama_cpp as llama

BATCH = 512
WARM_UP_NEW = 2


class Peer:
    """One model and one context with a cache for all streams."""

    def __init__(self, options: argparse.Namespace) -> None:
        llama.llama_backend_init()
        self._quiet = llama.llama_log_callback(lambda *_: None)  # must outlive the library's use
        llama.llama_log_set(self._quiet, None)
        model = llama.llama_model_load_from_file(
            options.model.encode(), llama.llama_model_default_params()
        )
        params = llama.llama_context_default_params()
        params.n_ctx = options.streams * (options.prompt_tokens + options.new_tokens + 16)
        params.n_batch = params.n_ubatch = BATCH
        params.n_seq_max = options.streams
        params.n_threads = params.n_threads_batch = options.threads
        params.kv_unified = True
        self._context = llama.llama_init_from_model(model, params)
        self._vocab_size = llama.llama_vocab_n_tokens(llama.llama_model_get_vocab(model))

    def decode(self, rows: list[tuple[int, int, int, bool]]) -> None:
        """Compute rows of (token, position, stream, needs logits)."""
        batch = llama.llama_batch_init(len(rows), 0, 1)
        batch.n_tokens = len(rows)
        for row, (token, position, stream, needs_logits) in enumerate(rows):
            batch.token[row] = token
            batch.pos[row] = position
            batch.n_seq_id[row] = 1
            batch.seq_id[row][0] = stream
            batch.logits[row] = needs_logits
        if llama.llama_decode(self._context, batch) != 0:
            raise RuntimeError("llama_decode failed")
        llama.llama_get_logits_ith(self._context, -1)  # waits for the result
        llama.llama_batch_free(batch)

    def run(self, options: argparse.Namespace, new_tokens: int) -> tuple[float, float]:
        """Seconds of prefill and of decode."""
        rng = random.Random(options.seed)
        llama.llama_memory_clear(llama.llama_get_memory(self._context), True)
        last = options.prompt_tokens - 1
        start = time.perf_counter()
        for stream in range(options.streams):
            rows = [
                (rng.randrange(100, self._vocab_size), at, stream, at == last)
                for at in range(options.prompt_tokens)
            ]
            for at in range(0, len(rows), BATCH):
                self.decode(rows[at : at + BATCH])
        filled = time.perf_counter()
        for step in range(new_tokens):
            at = options.prompt_tokens + step
            self.decode(
                [
                    (rng.randrange(100, self._vocab_size), at, stream, True)
                    for stream in range(options.streams)
                ]
            )
        return filled - start, time.perf_counter() - filled


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", required=True)
    for name in ("prompt-tokens", "new-tokens", "streams", "threads", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    options = parser.parse_args()
    peer = Peer(options)
    peer.run(options, WARM_UP_NEW)
    prefill, decode = peer.run(options, options.new_tokens)
    result = {
        "prefill_tokens_per_s": options.streams * options.prompt_tokens / prefill,
        "decode_tokens_per_s": options.streams * options.new_tokens / decode,
    }
    sys.stdout.write(json.dumps(result) + "\n")


if __name__ == "__main__":
    main()
