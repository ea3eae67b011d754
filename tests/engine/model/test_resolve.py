"""What "auto" becomes on different machines, and what is refused."""

from contextlib import closing
from dataclasses import replace

import pytest
import torch

from engine.api import Device, KVPrecision, ModelOptions, Precision
from engine.config import KVFormat
from engine.errors import InvalidRequestError, OutOfMemoryError
from engine.kernels.library import open_core
from engine.kv.grouped import make_storage
from engine.kv.manager import KVManager
from engine.kv.split import SplitStorage
from engine.model.footprint.cache import Pool, allocated_cache_bytes
from engine.model.footprint.checkpoint import blueprint_of
from engine.model.footprint.fit import Mode, Needs
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import layer_bytes
from engine.model.gguf_source import GgufSource
from engine.model.hf_source import HfSource
from engine.model.resolve import Machine, choose_machine, resolve, weights_bytes
from tests.helpers.family_folders import FAMILIES, write_family
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


# ---------------------------------------------------------------- layers with windows

LONG = 4_096
CHUNK = 64


@pytest.fixture(scope="module")
def windowed(tmp_path_factory):
    """Three layers of four see 128 tokens."""
    config = FAMILIES["gemma3"] | {"max_position_embeddings": LONG}
    folder = write_family(tmp_path_factory.mktemp("model") / "gemma", config)
    with closing(HfSource.open(folder)) as opened:
        yield opened


def _asked(source, **changes) -> ModelOptions:
    return ModelOptions(str(source.folder), kv=KVPrecision.FP32, max_batch_tokens=CHUNK, **changes)


def test_windows_have_a_pool_of_their_own(windowed):
    config = resolve(_asked(windowed, context_length=LONG), windowed, CPU)
    full, sliding = config.kv.groups
    assert (full.layers, full.window) == ((3,), 0)
    assert (sliding.layers, sliding.window, sliding.chunk) == ((0, 1, 2), 128, CHUNK)
    assert full.num_blocks == config.kv.num_blocks == 4 * LONG // 16
    pool = Pool(4 * LONG, LONG, CHUNK)
    assert sliding.num_blocks == pool.window_blocks(128) < full.num_blocks // 4
    planned = Needs(
        blueprint_of(windowed),
        Mode(config.precision, KVPrecision.FP32, chunk=CHUNK),
        target_of(Device.CPU),
    ).of(LONG, 4 * LONG)
    assert config.kv.total_bytes == planned.kv
    assert make_storage(config.kv, torch.device("cpu")).nbytes == planned.kv


@pytest.mark.parametrize("context", [64, 128, 192])
def test_a_window_as_long_as_what_is_kept_is_no_window(windowed, context):
    options = _asked(windowed, context_length=context, kv_budget_bytes=context * 4 * 2 * 64 * 4)
    config = resolve(options, windowed, CPU)
    assert config.kv.groups == ()
    assert config.kv.num_blocks == context // 16


@pytest.mark.parametrize("budget", [1, 100_000, 1_000_000, 1_234_567, 5_000_000, 1 << 30])
def test_a_budget_is_divided_among_the_kinds(windowed, budget):
    config = resolve(_asked(windowed, kv_budget_bytes=budget), windowed, CPU)
    block = 16 * 2 * 64 * 4
    assert config.kv.total_bytes <= max(budget, 4 * block)
    assert config.context_length == min(LONG, 16 * config.kv.num_blocks)
    more = Pool(16 * config.kv.num_blocks + 16, config.context_length, CHUNK)
    tracks = blueprint_of(windowed).tracks
    assert allocated_cache_bytes(tracks, more, KVPrecision.FP32) > budget


def test_one_request_of_the_whole_context_always_fits(windowed):
    for budget in (50_000, 1_000_000, 3_000_000):
        kv = resolve(_asked(windowed, kv_budget_bytes=budget), windowed, CPU).kv
        manager = KVManager(num_blocks=kv.pools, block_size=16, prefix_cache=False)
        limit = min(LONG, 16 * kv.num_blocks)
        assert manager.capacity >= limit
        manager.allocate_private("a")
        for end in (*range(CHUNK, limit, CHUNK), limit):
            assert manager.append("a", end) is not None
            manager.commit("a", (), end)


def test_windows_are_cut_between_two_devices_layer_by_layer(windowed):
    blueprint = blueprint_of(windowed)
    target = target_of(Device.CUDA)
    layers = layer_bytes(blueprint, Precision.FP32, target)
    needs = Needs(blueprint, Mode(Precision.FP32, KVPrecision.FP32, chunk=CHUNK), target)
    kv = needs.kv_layers(LONG, LONG)
    assert kv[3] > 4 * kv[0] == 4 * kv[1] == 4 * kv[2]
    head = weights_bytes(windowed, Precision.FP32, Device.CUDA) - sum(layers)
    budget = head + layers[3] + kv[3] + layers[2] + kv[2] + needs.of(LONG, LONG).packing
    options = _asked(windowed, weights=Precision.FP32, context_length=LONG)
    config = resolve(replace(options, gpu_budget_bytes=budget), windowed, split_machine())
    assert (config.device, config.cpu_layers) == (Device.CUDA, 2)
    runs = ((torch.device("cpu"), 2), (torch.device("cpu", 0), 2))
    storage = SplitStorage(config.kv, runs)
    assert [pool.nbytes for pool in storage.pools] == [sum(kv[:2]), sum(kv[2:])]
