"""The whole plan, and prediction against truth: what is planned is what is allocated."""

import json
from dataclasses import replace

import pytest
import torch

from engine.api import Device, KVPrecision, ModelOptions, Precision
from engine.devices import has_native_bf16
from engine.errors import InvalidRequestError
from engine.kernels.library import open_core
from engine.model.footprint.weights import Target
from engine.model.loader import load_model
from engine.planner.find import find_blueprint
from engine.planner.machine import Machine
from engine.planner.plan import plan
from engine.planner.room import Memory, Verdict
from engine.planner.wish import DEFAULT_CONTEXT, Wish
from engine.quant.int4_cpu import has_fast_int4
from engine.quant.int8_cpu import has_fast_int8
from tests.helpers.family_folders import FAMILIES, write_family, write_gptq
from tests.helpers.gguf_files import ARRAY, STRING, llama_metadata, llama_parameters, write_llama

KEYS = {
    "weights_bytes", "kv_bytes", "kv_bytes_per_token", "activation_bytes", "total_bytes", "fits",
    "predicted_decode_tokens_per_s", "predicted_prefill_tokens_per_s", "reasons",
}  # fmt: skip
GIB = 1 << 30
CONTEXT = 1_024
ROOMY = Machine(Memory(64 * GIB, 60 * GIB), Target())
LLAMA = find_blueprint("llama-3.1-8b")


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def test_every_key_is_there_and_plain():
    values = plan(LLAMA, Wish(), ROOMY).as_json()
    assert set(values) >= KEYS
    assert json.loads(json.dumps(values))["verdict"] == "fits"


def test_the_parts_make_the_total():
    made = plan(LLAMA, Wish(Precision.INT4), ROOMY)
    parts = (
        made.allocated_bytes,
        made.kv_allocated_bytes,
        made.activation_bytes,
        made.runtime_bytes,
    )
    assert made.total_bytes == sum(parts)
    assert made.peak_bytes >= made.total_bytes


@pytest.mark.parametrize(
    ("precision", "gigabytes"), [("fp32", 28.0), ("bf16", 14.0), ("int8", 7.0), ("int4", 3.5)]
)
def test_the_textbook(precision, gigabytes):
    made = plan(find_blueprint("llama-7b"), Wish(Precision(precision)), ROOMY)
    assert made.weights_bytes == pytest.approx(gigabytes * 1e9, rel=0.04)
    # scales cost; a table of 16 bits stays at 16 even where the rest is widened
    assert made.allocated_bytes > made.weights_bytes * 0.98


def test_weights_that_are_there_are_counted_as_allocated():
    made = plan(replace(LLAMA, is_from_weights=True), Wish(Precision.INT4), ROOMY)
    assert made.weights_bytes == made.allocated_bytes > made.parameter_bytes


@pytest.mark.parametrize(("name", "gib"), [("deepseek-v4-pro", 9.62), ("deepseek-v3.2", 83.9)])
def test_a_million_tokens(name, gib):
    wish = Wish(Precision.INT4, KVPrecision.BF16, 1_048_576)
    made = plan(find_blueprint(name), wish, ROOMY)
    assert made.kv_bytes / GIB == pytest.approx(gib, rel=0.0005)
    assert not made.fits


def test_kv_bytes_a_token():
    wish = Wish(kv=KVPrecision.BF16, context=1_000, streams=3)
    made = plan(find_blueprint("llama-13b"), wish, ROOMY)
    assert made.kv_bytes_per_token / 2**20 == 0.78125
    assert made.kv_bytes == made.kv_bytes_per_token * 3_000


def test_a_context_left_open_is_the_trained_one_within_reason():
    assert plan(LLAMA, Wish(), ROOMY).context == DEFAULT_CONTEXT
    assert plan(find_blueprint("llama-7b"), Wish(), ROOMY).context == 4_096


def test_what_does_not_fit_says_what_would():
    memory = Memory(16 * GIB, 12 * GIB, other_bytes=4 * GIB)
    made = plan(LLAMA, Wish(Precision.INT4, context=100_000), Machine(memory, Target()))
    assert (made.fits, made.verdict) == (False, Verdict.TOO_LARGE)
    assert 0 < made.largest_context < 100_000
    assert any(f"{made.largest_context:,} tokens" in reason for reason in made.reasons)
    again = plan(
        LLAMA, Wish(Precision.INT4, context=made.largest_context), Machine(memory, Target())
    )
    assert again.fits
    more = Wish(Precision.INT4, context=made.largest_context + 1)
    assert not plan(LLAMA, more, Machine(memory, Target())).fits


def test_where_nothing_fits():
    made = plan(LLAMA, Wish(), Machine(Memory(GIB, GIB), Target()))
    assert made.largest_context == 0
    assert any("No context would fit" in reason for reason in made.reasons)


def test_more_context_than_was_trained_is_said():
    made = plan(find_blueprint("llama-7b"), Wish(context=5_000), ROOMY)
    assert any("4,096" in reason for reason in made.reasons)


@pytest.mark.parametrize(
    "wish", [{"context": 0}, {"context": 1 << 40}, {"streams": 0}, {"gpu_budget": -1}]
)
def test_a_wish_out_of_range(wish):
    with pytest.raises(InvalidRequestError):
        Wish(**wish)


def here() -> Target:
    return Target(
        has_native_bf16=has_native_bf16(),
        has_fast_int4=has_fast_int4(),
        has_fast_int8=has_fast_int8(),
        has_core=open_core() is not None,
    )


def check_against_truth(path, precision, context):
    """Weights, and the cache of one context in whole blocks, within 5% of a real load."""
    made = plan(
        find_blueprint(path), Wish(precision, context=context), replace(ROOMY, target=here())
    )
    options = ModelOptions(
        str(path), weights=precision, device=Device.CPU, threads=1, context_length=context
    )
    model = load_model(options, [].append, bool)
    blocks = -(-context // model.info.kv_block_size)
    cache = blocks * model.config.kv.bytes_per_block
    assert model.info.precision.value == made.weights
    assert made.weights_bytes == pytest.approx(model.info.weights_bytes, rel=0.05)
    assert made.kv_bytes_per_token == pytest.approx(model.info.kv_bytes_per_token, rel=0.05)
    assert made.kv_allocated_bytes == cache
    truth = model.info.weights_bytes + cache
    assert made.weights_bytes + made.kv_bytes == pytest.approx(truth, rel=0.05)


@pytest.mark.parametrize("precision", list(Precision))
def test_a_tiny_model_takes_what_was_planned(precision, tmp_path):
    metadata = llama_metadata()
    pieces = ["<unk>", "<s>", "</s>", *(chr(33 + i) for i in range(94)), "ab"]
    pieces += [f"<extra_{i}>" for i in range(128 - len(pieces))]
    metadata["tokenizer.ggml.model"] = (STRING, "gpt2")
    metadata["tokenizer.ggml.pre"] = (STRING, "smollm")
    metadata["tokenizer.ggml.tokens"] = (ARRAY, (STRING, pieces))
    metadata["tokenizer.ggml.token_type"] = (ARRAY, (5, [3, 3, 3, *([1] * 95), *([5] * 30)]))
    metadata["tokenizer.ggml.merges"] = (ARRAY, (STRING, ["a b"]))
    path = write_llama(tmp_path / "tiny.gguf", llama_parameters(), metadata)
    check_against_truth(path, precision, 256)


@pytest.mark.parametrize("kv", list(KVPrecision))
@pytest.mark.parametrize("kind", ["gemma3", "mixture", "gptq"])
def test_a_folder_takes_what_was_planned_however_the_cache_is_kept(tmp_path, kind, kv):
    folder = tmp_path / kind
    if kind == "gptq":
        write_gptq(folder, FAMILIES["llama"] | {"max_position_embeddings": CONTEXT})
    else:
        write_family(folder, FAMILIES[kind] | {"max_position_embeddings": CONTEXT})
    wish = Wish(Precision.AUTO, kv, CONTEXT)
    made = plan(find_blueprint(folder), wish, replace(ROOMY, target=here()))
    options = ModelOptions(
        str(folder),
        device=Device.CPU,
        threads=1,
        context_length=CONTEXT,
        kv=kv,
        kv_budget_bytes=made.kv_allocated_bytes,
    )
    model = load_model(options, [].append, bool)
    cache = model.storage.nbytes
    assert cache == model.config.kv.total_bytes == model.info.kv_budget_bytes
    assert len(model.config.kv.groups) == (2 if kind == "gemma3" else 0)
    assert model.info.precision.value == made.weights
    assert made.kv_allocated_bytes == cache
    assert made.weights_bytes == pytest.approx(model.info.weights_bytes, rel=0.05)
    truth = model.info.weights_bytes + cache
    assert made.weights_bytes + made.kv_allocated_bytes == pytest.approx(truth, rel=0.05)


def test_windows_take_no_more_than_they_need():
    gemma = plan(find_blueprint("gemma-3-270m"), Wish(context=4_096), ROOMY)
    assert gemma.kv_bytes == (3 * 4_096 + 15 * 512) * 2 * 256 * 4
    # a window and a chunk of 512 tokens, the block before them, and the null block
    assert gemma.kv_allocated_bytes == (3 * 4_096 + 15 * 67 * 16) * 2 * 256 * 4
    two = plan(find_blueprint("gemma-3-270m"), Wish(context=4_096, streams=2), ROOMY)
    assert two.kv_allocated_bytes == 2 * gemma.kv_allocated_bytes
    assert any("window" in reason for reason in gemma.reasons)
    llama = plan(LLAMA, Wish(), ROOMY)
    assert llama.kv_bytes == llama.kv_allocated_bytes
    short = plan(LLAMA, Wish(context=10), ROOMY)
    assert not any("window" in reason for reason in (*llama.reasons, *short.reasons))


@pytest.mark.flow
@pytest.mark.parametrize("precision", [Precision.AUTO, Precision.INT4, Precision.INT8])
def test_the_starter_model_takes_what_was_planned(precision, starter_model):
    check_against_truth(starter_model, precision, 2_048)
