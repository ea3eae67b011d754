"""Plausible engine values for tests of pages: one model, one timeline, one set of gauges."""

from dataclasses import replace
from typing import Any

from engine.api import Device, EngineStats, ModelInfo, Precision, Timeline

MS = 1_000_000
MIB = 2**20

MODEL = ModelInfo(
    path="/models/small.gguf",
    name="Small 135M",
    architecture="llama",
    precision=Precision.INT4,
    device=Device.CPU,
    device_name="Test CPU",
    threads=2,
    context_length=8192,
    trained_context_length=8192,
    vocab_size=49_152,
    hidden_size=576,
    intermediate_size=1536,
    num_layers=30,
    num_heads=9,
    num_kv_heads=3,
    head_dim=64,
    num_parameters=134_515_008,
    file_bytes=98_362_432,
    weights_bytes=92 * MIB,
    kv_bytes_per_token=23_040,
    kv_budget_bytes=180 * MIB,
    kv_block_size=16,
    kv_dtype="bfloat16",
    load_ns=900 * MS,
    has_chat_template=True,
    kernels=("INT4: packed", "head: INT8"),
    license="apache-2.0",
)

TIMELINE = Timeline(
    sent_ns=0,
    tokenize_start_ns=4 * MS,
    tokenize_end_ns=10 * MS,
    prefill_start_ns=11 * MS,
    prefill_end_ns=165 * MS,
    first_token_ns=166 * MS,
    last_token_ns=600 * MS,
    load_wait_ns=0,
    num_prompt_tokens=2397,
    num_cached_tokens=2310,
    num_output_tokens=84,
    first_paint_ns=182 * MS,
)

STATS = EngineStats(
    at_ns=0,
    kv_live_tokens=2_397,
    kv_live_blocks=150,
    kv_cached_blocks=50,
    kv_total_blocks=512,
    kv_block_bytes=23_040 * 16,
    num_running=1,
    num_waiting=0,
    weights_bytes=92 * MIB,
    kv_allocated_bytes=180 * MIB,
    process_bytes=600 * MIB,
    other_programs_bytes=5_000 * MIB,
    total_memory_bytes=16_384 * MIB,
)


def stats(**changed: Any) -> EngineStats:
    """The gauges with some of them changed."""
    return replace(STATS, **changed)
