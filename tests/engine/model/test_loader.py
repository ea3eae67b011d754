"""Loading: order, refusals, cancellation, and the starter model."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.api import Device, LoadProgress, LoadStage, ModelOptions, Precision
from engine.errors import (
    EngineError,
    LoadCancelledError,
    ModelCorruptError,
    ModelMissingError,
    ModelUnsupportedError,
    OutOfMemoryError,
)
from engine.model import loader, resolve
from engine.model.batch import ForwardBatch, Segment
from engine.model.loader import LoadedModel, load_model
from engine.model.offloaded import OffloadedDecoder
from engine.model.weight_cache import cache_folder
from tests.helpers.gguf_files import ARRAY, STRING, llama_metadata, llama_parameters, write_llama


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A tiny Llama with a byte-level vocabulary of 128 pieces."""
    pieces = ["<unk>", "<s>", "</s>", *(chr(33 + i) for i in range(94)), "ab"]
    pieces += [f"<extra_{i}>" for i in range(128 - len(pieces))]
    kinds = [3, 3, 3, *([1] * 95), *([5] * 30)]
    metadata = llama_metadata()
    metadata["tokenizer.ggml.model"] = (STRING, "gpt2")
    metadata["tokenizer.ggml.pre"] = (STRING, "smollm")
    metadata["tokenizer.ggml.tokens"] = (ARRAY, (STRING, pieces))
    metadata["tokenizer.ggml.token_type"] = (ARRAY, (5, kinds))
    metadata["tokenizer.ggml.merges"] = (ARRAY, (STRING, ["a b"]))
    return write_llama(tmp_path / "tiny.gguf", llama_parameters(), metadata)


def load(path: Path | str, **options) -> LoadedModel:
    wanted = ModelOptions(str(path), device=Device.CPU, threads=1, **options)
    return load_model(wanted, [].append, bool)


def logits(model: LoadedModel, ids: list[int]) -> torch.Tensor:
    rows = torch.arange(len(ids))
    blocks = tuple(range(-(-len(ids) // model.config.kv.block_size)))
    batch = ForwardBatch(torch.tensor(ids), rows, rows, (Segment(0, len(ids), 0, blocks),), rows)
    return model.decoder.forward(batch, model.storage, bool)


def test_info(tiny):
    model = load(tiny, weights=Precision.FP32)
    info = model.info
    assert info.name == "Tiny"
    assert info.license == "apache-2.0"
    assert info.num_parameters == sum(v.numel() for v in llama_parameters().values())
    assert info.weights_bytes == 4 * info.num_parameters  # the tied table counts once
    assert info.weights_bytes == model.decoder.weights_bytes
    assert info.file_bytes == tiny.stat().st_size
    assert info.kv_budget_bytes == model.config.kv.total_bytes == model.storage.nbytes
    assert info.context_length == info.trained_context_length == 256
    assert not info.has_chat_template
    assert info.kernels
    assert info.load_ns > 0
    assert torch.get_num_threads() == 1


@pytest.mark.parametrize("precision", [Precision.BF16, Precision.INT8])
def test_precisions_agree_with_float32(tiny, precision):
    ids = [5, 9, 30, 77, 100]
    exact = logits(load(tiny, weights=Precision.FP32), ids)
    close = logits(load(tiny, weights=precision), ids)
    assert (close - exact).norm() / exact.norm() < 0.05


def test_wider_weights_are_quantised_to_four_bits_once(tiny):
    first = load(tiny, weights=Precision.INT4)
    assert first.info.precision is Precision.INT4
    kept = list(cache_folder().glob("*.safetensors"))
    assert len(kept) == 1
    ids = [5, 9, 30, 77, 100]
    seen: list[LoadProgress] = []
    options = ModelOptions(str(tiny), weights=Precision.INT4, device=Device.CPU, threads=1)
    second = load_model(options, seen.append, bool)
    assert torch.equal(logits(first, ids), logits(second, ids))
    done = [progress.done for progress in seen if progress.stage is LoadStage.WEIGHTS]
    assert done == sorted(done)
    assert done[-1] > done[0]


def test_a_four_bit_file_needs_no_cache(starter_model):
    load(starter_model, weights=Precision.INT4, context_length=64)
    assert not cache_folder().exists()


def test_stages_in_order(tiny):
    seen: list[LoadProgress] = []
    load_model(ModelOptions(str(tiny), threads=1), seen.append, bool)
    stages = [stage for stage, _ in itertools.groupby(progress.stage for progress in seen)]
    assert stages == [
        LoadStage.READING_HEADER,
        LoadStage.TOKENIZER,
        LoadStage.WEIGHTS,
        LoadStage.KV_CACHE,
        LoadStage.WARM_UP,
    ]
    done = [progress.done for progress in seen if progress.stage is LoadStage.WEIGHTS]
    assert done == sorted(done)
    assert all(progress.done <= progress.total for progress in seen)
    assert all(progress.path == str(tiny) for progress in seen)


def test_cancel_at_every_question(tiny):
    questions = itertools.count()
    load_model(ModelOptions(str(tiny), threads=1), [].append, lambda: next(questions) < 0)
    total = next(questions)
    for last in range(0, total, 3):
        asked = itertools.count()

        def is_cancelled(last=last, asked=asked) -> bool:
            return next(asked) >= last

        with pytest.raises(LoadCancelledError):
            load_model(ModelOptions(str(tiny), threads=1), [].append, is_cancelled)


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("gone.gguf", None, ModelMissingError),
        ("empty.gguf", b"", ModelCorruptError),
        ("page.gguf", b"<html>", ModelCorruptError),
        ("model.bin", b"\x80\x02", ModelUnsupportedError),
    ],
)
def test_refusals(tmp_path, name, content, kind):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(kind) as caught:
        load(path)
    assert str(caught.value).endswith(".")


def test_no_path():
    with pytest.raises(ModelMissingError):
        load("")


def test_an_empty_folder(tmp_path):
    with pytest.raises(ModelMissingError):
        load(tmp_path)


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"),
    ],
)
def test_failed_allocations_are_named(tiny, monkeypatch, error):
    def fail(*_args: object) -> None:
        raise error

    monkeypatch.setattr(loader, "make_storage", fail)
    with pytest.raises(OutOfMemoryError) as caught:
        load(tiny)
    assert isinstance(caught.value, EngineError)
    assert set(caught.value.details) == {"needed", "available"}


def test_other_faults_stay_themselves(tiny, monkeypatch):
    def fail(*_args: object) -> None:
        raise RuntimeError("a broken invariant")

    monkeypatch.setattr(loader, "make_storage", fail)
    with pytest.raises(RuntimeError, match="broken invariant"):
        load(tiny)


def test_starter_model(starter_model):
    model = load(starter_model, context_length=256)
    assert model.info.precision is Precision.INT4
    assert model.info.has_chat_template
    assert model.info.weights_bytes < model.info.file_bytes
    ids = model.tokenizer.encode("The capital of France is", parse_special=False)
    best = int(logits(model, ids)[-1].argmax())
    assert model.tokenizer.token_bytes(best) == b" Paris"


def test_layers_beyond_the_gpus_budget_run_on_the_cpu(tiny, monkeypatch):
    """The GPU is a CPU under another name: what is planned and loaded is the same."""
    whole = load(tiny, weights=Precision.FP32)
    budget = whole.decoder.weights_bytes - 1 + 128 * 64 * 4
    host = resolve.choose_machine(Device.CPU)
    gpu = replace(host, device=Device.CUDA, host=host)
    monkeypatch.setattr(loader, "choose_machine", lambda _wanted: gpu)
    monkeypatch.setattr(loader, "_device", lambda _config: torch.device("cpu"))
    model = load(tiny, weights=Precision.FP32, gpu_budget_bytes=budget, context_length=64)
    assert isinstance(model.decoder, OffloadedDecoder)
    assert model.info.kernels[0] == "1 of 2 layers on the CPU"
    assert model.decoder.gpu_bytes + model.storage.pools[1].nbytes <= budget
    ids = [3, 9, 27, 81, 5]
    torch.testing.assert_close(logits(model, ids), logits(whole, ids))


def test_the_cpus_layers_of_a_split_model_are_quantised_well(tiny, monkeypatch):
    """They are what a whole load packs, kept on disk; the GPU's come from the wider weights."""
    host = resolve.choose_machine(Device.CPU)
    whole = load(tiny, weights=Precision.INT4, context_length=64)
    (kept,) = cache_folder().glob("*")
    gpu = replace(host, device=Device.CUDA, host=host)
    monkeypatch.setattr(loader, "choose_machine", lambda _wanted: gpu)
    monkeypatch.setattr(loader, "_device", lambda _config: torch.device("cpu"))
    # less than the whole takes, and no less than one layer of it
    for budget in range(160_000, 60_000, -8_000):
        for file in cache_folder().glob("*"):
            file.unlink()
        model = load(tiny, weights=Precision.INT4, gpu_budget_bytes=budget, context_length=64)
        if model.config.cpu_layers:
            break
    assert isinstance(model.decoder, OffloadedDecoder)
    assert model.info.kernels[0] == "1 of 2 layers on the CPU"
    assert [file.stem for file in cache_folder().glob("*")] == [f"{kept.stem}-1"]
    lower = next(line for line in model.info.kernels if line.startswith("CPU qkv: "))
    assert lower.removeprefix("CPU ") == whole.info.kernels[0]
    assert logits(model, [3, 9, 27]).isfinite().all()
