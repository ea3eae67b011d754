"""What "auto" becomes on different machines, and what is refused."""

from dataclasses import replace

import pytest

from engine.api import Device, KVPrecision, ModelOptions, Precision
from engine.config import KVFormat
from engine.errors import InvalidRequestError, OutOfMemoryError
from engine.kernels.library import open_core
from engine.model.footprint.checkpoint import blueprint_of
from engine.model.footprint.fit import Mode, Needs
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import layer_bytes
from engine.model.gguf_source import GgufSource
from engine.model.resolve import Machine, choose_machine, resolve, weights_bytes
from tests.helpers.gguf_files import llama_parameters, write_llama

GB = 1 << 30
CPU = Machine(Device.CPU, 16 * GB, 8 * GB, has_native_bf16=False, physical_cores=4)
GPU = Machine(Device.CUDA, 8 * GB, 6 * GB, has_native_bf16=True, physical_cores=4)
OPTIONS = ModelOptions("tiny.gguf")
# K and V of two layers, two key-value heads of 16, float32; blocks of 16 tokens
TOKEN_BYTES = 2 * 2 * 2 * 16 * 4
BLOCK_BYTES = 16 * TOKEN_BYTES


@pytest.fixture
def source(tmp_path):
    return GgufSource.open(write_llama(tmp_path / "tiny.gguf", llama_parameters()))


def need(source, tokens, precision=Precision.INT8):
    """What the CPU would hold with a cache of so many tokens."""
    return Needs(blueprint_of(source), Mode(precision), target_of(Device.CPU)).of(tokens, tokens)


@pytest.fixture
def four_bit(tmp_path):
    path = write_llama(tmp_path / "four.gguf", llama_parameters(), four_bit=True)
    return GgufSource.open(path)


def test_precision_follows_the_file(source, four_bit):
    assert resolve(OPTIONS, source, CPU).precision is Precision.INT8
    assert resolve(OPTIONS, four_bit, CPU).precision is Precision.INT4
    chosen = replace(OPTIONS, weights=Precision.FP32)
    assert resolve(chosen, four_bit, CPU).precision is Precision.FP32


@pytest.mark.parametrize(
    ("precision", "machine", "dtype"),
    [
        (Precision.INT8, CPU, "float32"),
        (Precision.INT4, replace(CPU, has_native_bf16=True), "float32"),
        (Precision.BF16, CPU, "float32"),
        (Precision.BF16, replace(CPU, has_native_bf16=True), "bfloat16"),
        (Precision.FP32, GPU, "float32"),
        (Precision.INT4, GPU, "bfloat16"),
        (Precision.INT8, replace(GPU, has_native_bf16=False), "float16"),
    ],
)
def test_compute_dtype(source, precision, machine, dtype):
    config = resolve(replace(OPTIONS, weights=precision), source, machine)
    assert config.compute_dtype == config.kv_dtype == dtype


@pytest.mark.parametrize(
    ("wanted", "machine", "kept"),
    [
        (KVPrecision.FP32, CPU, KVFormat.FLOAT32),
        (KVPrecision.BF16, CPU, KVFormat.FLOAT16),
        (KVPrecision.BF16, GPU, KVFormat.BFLOAT16),
        (KVPrecision.BF16, replace(GPU, has_native_bf16=False), KVFormat.FLOAT16),
        (KVPrecision.INT8, CPU, KVFormat.INT8),
        (KVPrecision.INT4, GPU, KVFormat.INT4),
    ],
)
def test_the_cache_is_kept_as_wanted(source, wanted, machine, kept):
    config = resolve(replace(OPTIONS, kv=wanted), source, machine)
    assert config.kv.format is kept
    assert config.kv_dtype == kept.value


@pytest.mark.parametrize("precision", [Precision.INT4, Precision.INT8, Precision.FP32])
def test_a_cache_left_open_is_int8_where_native_layers_read_it(source, monkeypatch, precision):
    options = replace(OPTIONS, weights=precision)
    assert resolve(options, source, CPU).kv.format is KVFormat.FLOAT32, (
        "heads of 16 are not native"
    )
    native = replace(blueprint_of(source), has_native_step=True)
    monkeypatch.setattr("engine.model.resolve.blueprint_of", lambda _source: native)
    is_native = open_core() is not None and precision is not Precision.FP32
    kept = KVFormat.INT8 if is_native else KVFormat.FLOAT32
    assert resolve(options, source, CPU).kv.format is kept
    assert not resolve(options, source, GPU).kv.format.is_quantised


def test_defaults(source):
    config = resolve(OPTIONS, source, CPU)
    assert config.threads == 4
    assert config.context_length == 256
    assert config.kv.bytes_per_token == TOKEN_BYTES
    assert config.kv.num_blocks == 4 * 256 // 16


def test_a_small_memory_holds_one_context(source):
    config = resolve(OPTIONS, source, replace(CPU, total_bytes=GB // 1024))
    assert config.kv.num_blocks == 256 // 16


def test_an_open_context_shrinks_to_what_fits(source):
    room = need(source, 3 * 16).peak + BLOCK_BYTES // 2
    config = resolve(OPTIONS, source, replace(CPU, available_bytes=room))
    assert config.context_length == config.kv.num_blocks * 16 == 3 * 16


def test_a_context_asked_for_must_fit(source):
    machine = replace(CPU, available_bytes=need(source, 256).peak - 1)
    with pytest.raises(OutOfMemoryError) as caught:
        resolve(replace(OPTIONS, context_length=256), source, machine)
    assert caught.value.details["needed"] > caught.value.details["available"]


def test_weights_must_fit(source):
    with pytest.raises(OutOfMemoryError):
        resolve(OPTIONS, source, replace(CPU, available_bytes=100 << 20))


def test_budget_by_number(source):
    config = resolve(replace(OPTIONS, kv_budget_bytes=5 * BLOCK_BYTES + 1), source, CPU)
    assert config.kv.num_blocks == 5
    assert config.context_length == 80


@pytest.mark.parametrize(
    "changes",
    [
        {"context_length": 8},
        {"threads": 0},
        {"max_batch_tokens": 0},
        {"max_streams": 0},
        {"kv_budget_bytes": 0},
    ],
)
def test_options_out_of_range(source, changes):
    with pytest.raises(InvalidRequestError):
        resolve(replace(OPTIONS, **changes), source, CPU)


def test_a_longer_context_than_the_models_is_the_models(source):
    config = resolve(replace(OPTIONS, context_length=1 << 20), source, CPU)
    assert config.context_length == 256


def test_this_machine():
    machine = choose_machine(Device.CPU)
    assert machine.device is Device.CPU
    assert machine.physical_cores >= 1
    assert 0 < machine.available_bytes <= machine.total_bytes


def test_cuda_that_is_not_there(monkeypatch):
    monkeypatch.setattr("engine.model.resolve.find_gpu", _no_gpu)
    with pytest.raises(InvalidRequestError, match="CUDA"):
        choose_machine(Device.CUDA)
    assert choose_machine(Device.AUTO).device is Device.CPU


def _no_gpu() -> None:
    return None


SPLIT = ModelOptions("tiny.gguf", weights=Precision.FP32)


def split_machine(**changes) -> Machine:
    return replace(GPU, host=replace(CPU, **changes))


def test_a_model_within_the_gpus_budget_is_not_cut(source):
    config = resolve(replace(SPLIT, gpu_budget_bytes=GB), source, split_machine())
    assert (config.device, config.cpu_layers) == (Device.CUDA, 0)


def test_what_the_gpu_cannot_hold_goes_to_the_cpu(source):
    weights = weights_bytes(source, Precision.FP32, Device.CUDA)
    layer = layer_bytes(blueprint_of(source), Precision.FP32, target_of(Device.CUDA))[1]
    budget = weights + need(source, 64).packing - layer // 2
    options = replace(SPLIT, gpu_budget_bytes=budget, context_length=64)
    config = resolve(options, source, split_machine())
    assert (config.device, config.cpu_layers) == (Device.CUDA, 1)
    assert config.context_length == 64
    assert config.kv.num_blocks == 64 // 16
    assert config.cpu_dtype == "float32"


def test_a_gpu_that_holds_no_layer_leaves_all_to_the_cpu(source):
    config = resolve(replace(SPLIT, gpu_budget_bytes=0), source, split_machine())
    assert (config.device, config.cpu_layers) == (Device.CPU, 0)
    assert config.context_length == 256


def test_the_computer_must_hold_its_part(source):
    machine = split_machine(available_bytes=100 << 20)
    with pytest.raises(OutOfMemoryError):
        resolve(replace(SPLIT, gpu_budget_bytes=0), source, machine)


def test_a_budget_below_nothing_is_refused(source):
    with pytest.raises(InvalidRequestError):
        resolve(replace(SPLIT, gpu_budget_bytes=-1), source, split_machine())
