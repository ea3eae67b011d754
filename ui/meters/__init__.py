"""Live TTFT, ITL, KV cache and memory meters."""
