"""The compatibility decoder: products, progress, interruption, and a whole answer."""

import time
from contextlib import closing
from pathlib import Path

import pytest
import safetensors.torch
import torch

from engine.api import (
    Finished,
    GenerationRequest,
    ModelOptions,
    ModelReady,
    Part,
    Precision,
    SamplingParams,
    TokensProduced,
)
from engine.core import EngineCore
from engine.errors import LoadCancelledError, ModelCorruptError
from engine.model.batch import ForwardInterruptedError
from engine.model.compat.decoder import CompatDecoder
from engine.model.compat.dispatch import DevicePlan
from engine.model.compat.source import CompatSource
from engine.model.part_clock import PartClock, timed
from engine.runner import build_batch
from engine.scheduling.plan import StepPlan
from tests.helpers.compat_folders import write_model
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    all_logits,
    ignore_progress,
    make_storage,
    never,
)

IDS = [5, 250, 7, 91, 33, 8, 120, 4, 66, 12, 9, 71, 200]


@pytest.fixture(autouse=True)
def threads():
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gpt2")
    write_model(folder, "gpt2", hidden_size=64, num_attention_heads=4)
    return folder


def build(
    folder: Path,
    precision: Precision = Precision.FP32,
    on_progress=ignore_progress,
    is_cancelled=never,
) -> CompatDecoder:
    with closing(CompatSource.open(folder)) as source:
        return CompatDecoder.build(
            source, precision, torch.float32, DevicePlan(CPU), on_progress, is_cancelled
        )


def logits(decoder: CompatDecoder) -> torch.Tensor:
    storage = make_storage(decoder.config, num_blocks=4, block_size=8)
    return all_logits(decoder, storage, CachedSequence((2, 0)), IDS, (5, 8))


@pytest.mark.parametrize(
    ("precision", "error", "bytes_a_weight"),
    [(Precision.BF16, 0.02, 2.4), (Precision.INT8, 0.1, 1.4), (Precision.INT4, 0.4, 1.4)],
)
def test_products_replace_layers(folder, precision, error, bytes_a_weight):
    exact = build(folder)
    decoder = build(folder, precision)
    wanted = logits(exact)
    assert float((logits(decoder) - wanted).norm() / wanted.norm()) < error
    assert exact.kernels == (
        "runs through the compatibility path; slower",
        "float32 product (transformers)",
    )
    assert precision.value.upper() in " ".join(decoder.kernels)
    assert decoder.weights_bytes < exact.weights_bytes / 4 * bytes_a_weight


def test_tied_tables_are_kept_once(folder):
    model_bytes = sum(
        t.nbytes for t in safetensors.torch.load_file(folder / "model.safetensors").values()
    )
    assert build(folder).weights_bytes == pytest.approx(model_bytes, rel=0.05)


def test_progress_and_cancellation(folder):
    seen: list[tuple[int, int]] = []
    build(folder, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1]
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    with pytest.raises(LoadCancelledError):
        build(folder, is_cancelled=lambda: True)


def test_a_missing_tensor_is_named(folder, tmp_path):
    tensors = safetensors.torch.load_file(folder / "model.safetensors")
    name = next(name for name in tensors if name.endswith("h.1.mlp.c_fc.bias"))
    del tensors[name]
    safetensors.torch.save_file(tensors, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    for precision in (Precision.FP32, Precision.INT8):
        with pytest.raises(ModelCorruptError, match=r"h\.1\.mlp\.c_fc\.bias is missing"):
            build(tmp_path, precision)


def test_a_stop_between_layers_is_obeyed(folder):
    decoder = build(folder)
    storage = make_storage(decoder.config, num_blocks=4, block_size=8)
    batch = build_batch(StepPlan((CachedSequence((0, 1)).chunk(IDS, 1),)), 8, CPU)
    answers = iter([False, True])
    with pytest.raises(ForwardInterruptedError):
        decoder.forward(batch, storage, lambda: next(answers))
    assert decoder.forward(batch, storage, never).shape == (1, 264)


def test_chunks_without_logits_give_none(folder):
    decoder = build(folder)
    storage = make_storage(decoder.config, num_blocks=4, block_size=8)
    batch = build_batch(StepPlan((CachedSequence((0, 1)).chunk(IDS, 0),)), 8, CPU)
    assert decoder.forward(batch, storage, never).shape == (0, 264)


def test_a_whole_answer(folder):
    """The greedy answer equals the one of repeated full passes without any cache."""
    core = EngineCore()
    options = ModelOptions(str(folder), weights=Precision.FP32, threads=1, max_batch_tokens=4)
    ready = core.load(options)[-1]
    assert isinstance(ready, ModelReady)
    assert ready.info.architecture == "gpt2"
    assert ready.info.kernels[0] == "runs through the compatibility path; slower"
    params = SamplingParams(temperature=0.0, max_tokens=6, ignore_eos=True)
    core.submit(GenerationRequest("a", time.perf_counter_ns(), params, prompt_ids=tuple(IDS)))
    tokens: list[int] = []
    finished = False
    while not finished:
        for event in core.step():
            if isinstance(event, TokensProduced):
                tokens += event.token_ids
            finished = finished or isinstance(event, Finished)
    decoder, known = build(folder), list(IDS)
    while len(known) < len(IDS) + 6:
        storage = make_storage(decoder.config, num_blocks=4, block_size=8)
        whole = all_logits(decoder, storage, CachedSequence((2, 0, 1)), known, (len(known),))
        known.append(int(whole[-1].argmax()))
    assert tokens == known[len(IDS) :]


def test_a_timed_decoder_knows_its_layers_and_leaves_no_hook(folder):
    decoder = build(folder)
    layers = decoder.config.num_layers
    clock = PartClock(layers)
    clock.start()
    assert torch.equal(logits(timed(decoder, clock)), logits(decoder))
    table = torch.tensor(clock.table).view(layers + 1, len(Part))
    places = {part: place for place, part in enumerate(Part)}
    assert (table[:layers, places[Part.OTHER]] > 0).all()
    assert (table[layers, [places[Part.EMBED], places[Part.HEAD]]] > 0).all()
    before = table.sum()
    logits(decoder)
    assert torch.tensor(clock.table).sum() == before
