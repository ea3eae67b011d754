"""Captured decode steps: the same tokens as kernel by kernel, whoever joins or leaves."""

import gc
import logging
import random
import subprocess
import sys
import weakref
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.api import (
    KVPrecision,
    ModelOptions,
    ModelReady,
    Precision,
)
from engine.config import KVFormat
from engine.core import EngineCore
from engine.kernels.library import open_core
from engine.kv.quantized import QuantizedStorage
from engine.kv.storage import PagedStorage
from engine.model.batch import ForwardInterruptedError
from engine.model.captured.rows import DecoderShape, RowsKind
from engine.model.captured.steps import capture_on, why_not
from engine.model.config import ModelConfig
from engine.model.experts import ExpertMixture
from engine.model.loader import LoadedModel, load_model
from engine.model.native import NativeDecoder
from engine.runner import build_batch
from engine.scheduling.plan import StepPlan
from tests.helpers.busy_engine import answers, staggered_requests
from tests.helpers.captured_decoder import capture, gathered, greedy
from tests.helpers.decoding import CPU, CachedSequence, build_native, forward, make_storage
from tests.helpers.fake_graphs import BrokenGraphs, FakeGraphs, NotCapturableError
from tests.helpers.state_dict_source import StateDictSource, random_state_dict
from tests.helpers.tiny_models import write_tiny_model
from tests.helpers.windowed import Served, window_geometry

CONFIG = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=61,
    hidden_size=48,
    intermediate_size=80,
    num_layers=3,
    num_heads=6,
    num_kv_heads=2,
    head_dim=16,
    rms_norm_eps=1e-5,
    rope_theta=10_000.0,
    max_position_embeddings=64,
)
BLOCK = 4


def _decoder(config: ModelConfig = CONFIG) -> NativeDecoder:
    return build_native(StateDictSource(config, random_state_dict(config)))


def _sequences(lengths: Sequence[int]) -> list[CachedSequence]:
    """Texts whose blocks alternate; ``lengths``: of their prompts."""
    count = len(lengths)
    return [CachedSequence(tuple(range(i, 16 * count, count))) for i in range(count)]


class _Twins:
    """One model served twice, captured and not."""

    def __init__(self, kept: KVFormat, lengths: Sequence[int], config: ModelConfig = CONFIG):
        self.graphs = FakeGraphs()
        # a last bit of K or V that is rounded the other way
        self.tolerance = 1e-4 if kept is KVFormat.FLOAT32 else 5e-3
        self.decoders = (_decoder(config), _decoder(config))
        self.steps = capture(self.decoders[0], self.graphs)
        self.storages = [
            make_storage(config, 16 * len(lengths), BLOCK, kept) for _ in self.decoders
        ]
        self.texts = [_sequences(lengths) for _ in self.decoders]
        draw = torch.Generator().manual_seed(1)
        self.next = [torch.randint(61, (n,), generator=draw).tolist() for n in lengths]

    def step(self, names: Sequence[int]) -> None:
        """Compute the next tokens of some texts in both, and let them agree."""
        logits = [
            forward(
                decoder,
                storage,
                *(texts[name].chunk(self.next[name], 1) for name in names),
            )
            for decoder, storage, texts in zip(
                self.decoders, self.storages, self.texts, strict=True
            )
        ]
        torch.testing.assert_close(*logits, atol=self.tolerance, rtol=1e-3)
        tokens = greedy(logits[0])
        assert tokens == greedy(logits[1])
        for name, token in zip(names, tokens, strict=True):
            self.next[name] = [token]


@pytest.mark.parametrize("kept", list(KVFormat))
def test_logits_are_those_of_eager_steps_as_texts_join_and_leave(kept: KVFormat) -> None:
    twins = _Twins(kept, (3, 17, 1, 9, 30))
    for name in (0, 1):
        twins.step([name])
    joins: list[list[int]] = [[0, 1], [1, 0], [2], [0, 1, 2], [3], [4], [3, 1, 4, 0, 2]]
    for names in joins:
        twins.step(names)
    for _ in range(9):
        twins.step([4, 2, 3, 1, 0])
    for names in ([1, 4, 3], [3, 4], [0], [2, 0, 1, 4]):
        twins.step(names)
    # of one, two, four and eight rows; a step of prompts alone is none of them
    assert twins.steps.num_graphs <= 6
    assert twins.graphs.captures == twins.steps.num_graphs
    assert twins.graphs.replays >= 15


@pytest.mark.parametrize("seed", range(2))
def test_any_order_of_joins_and_leaves_gives_the_same_tokens(seed: int) -> None:
    dice = random.Random(seed)
    twins = _Twins(KVFormat.FLOAT32, [dice.randint(1, 30) for _ in range(9)])
    running: list[int] = []
    waiting = list(range(9))
    for _ in range(30):
        if waiting and dice.random() < 0.5:
            running.append(waiting.pop())
        if len(running) > 1 and dice.random() < 0.2:
            waiting.insert(0, running.pop(dice.randrange(len(running))))
        if running:
            twins.step(dice.sample(running, len(running)))
    assert twins.graphs.replays > 5
    assert twins.graphs.captures == twins.steps.num_graphs <= 5


def test_rows_that_fill_up_change_nothing_in_the_cache() -> None:
    twins = _Twins(KVFormat.FLOAT32, (5, 6, 7))
    for name in range(3):
        twins.step([name])
    for _ in range(6):
        twins.step([0, 1, 2])
    ours, plain = (storage.pool for storage in twins.storages)
    torch.testing.assert_close(ours, plain, atol=1e-5, rtol=1e-4)
    assert torch.equal(ours == 0, plain == 0)


@pytest.mark.parametrize("kept", [KVFormat.FLOAT32, KVFormat.INT8])
def test_layers_with_windows_of_their_own_are_captured(kept: KVFormat) -> None:
    config = replace(
        CONFIG,
        num_layers=4,
        sliding_window=10,
        sliding_layers=(True, False, True, True),
        local_rope_theta=500.0,
        max_position_embeddings=128,
    )
    geometry = window_geometry(
        config, num_blocks=40, window_blocks=20, block_size=8, chunk=16, kept=kept
    )
    graphs = FakeGraphs()
    decoders = (_decoder(config), _decoder(config))
    steps = capture(decoders[0], graphs)
    draw = torch.Generator().manual_seed(2)
    texts = {
        name: torch.randint(61, (n,), generator=draw).tolist()
        for name, n in (("a", 90), ("b", 60), ("c", 75))
    }
    outputs = []
    both = [Served(decoder, geometry) for decoder in decoders]
    for served in both:
        logits = []
        for name, ids in texts.items():
            served.open(name, ids)
            logits += served.read({name: ids}, [16])
        for names in ("abc", "ab", "a") * 8:
            logits += served.read({n: texts[n] for n in names}, [1] * len(names))
        outputs.append(torch.cat(logits))
    torch.testing.assert_close(
        *outputs, atol=1e-4 if kept is KVFormat.FLOAT32 else 5e-3, rtol=1e-3
    )
    assert greedy(outputs[0]) == greedy(outputs[1])
    assert graphs.replays == 24
    assert {rows for rows, _width in steps._graphs} == {1, 2, 4}


def test_a_stop_is_heard_before_a_step() -> None:
    twins = _Twins(KVFormat.FLOAT32, (3,))
    twins.step([0])
    twins.step([0])
    batch = build_batch(StepPlan((twins.texts[0][0].chunk([5], 1),)), BLOCK, CPU)
    before, replays = twins.storages[0].pool.clone(), twins.graphs.replays
    with pytest.raises(ForwardInterruptedError):
        twins.decoders[0].forward(batch, twins.storages[0], lambda: True)
    assert torch.equal(twins.storages[0].pool, before)
    assert twins.graphs.replays == replays


def test_other_steps_are_not_captured() -> None:
    decoder, graphs = _decoder(), FakeGraphs()
    capture(decoder, graphs)
    storage = make_storage(CONFIG, 400, BLOCK)
    text = CachedSequence(tuple(range(8)))
    forward(decoder, storage, text.chunk([1, 2, 3], 1))
    forward(decoder, storage, text.chunk([4], 0))  # a prompt's, without logits
    forward(decoder, storage, text.chunk([4, 5], 2))  # a guess
    crowd = [CachedSequence((i,)) for i in range(40)]
    forward(decoder, storage, *(text.chunk([7], 1) for text in crowd))
    assert graphs.captures == 0


def test_what_was_captured_is_dropped_with_what_it_reads() -> None:
    decoder, graphs = _decoder(), FakeGraphs()
    steps = capture(decoder, graphs)
    storages = [make_storage(CONFIG, 32, BLOCK) for _ in range(2)]

    def decode(storage: PagedStorage) -> torch.Tensor:
        return forward(decoder, storage, CachedSequence((3,)).chunk([9], 1))

    first = decode(storages[0])
    decode(storages[0])
    assert (graphs.captures, steps.num_graphs) == (1, 1)
    torch.testing.assert_close(decode(storages[1]), first)
    assert (graphs.captures, steps.num_graphs) == (2, 1)
    decoder.reserve(5_000)  # the rotary tables move
    assert steps.num_graphs == 0
    torch.testing.assert_close(decode(storages[1]), first)
    decoder.set_context(32)
    assert steps.num_graphs == 0
    torch.testing.assert_close(decode(storages[1]), first)


@pytest.mark.parametrize("kept", [KVFormat.FLOAT32, KVFormat.INT4])
@pytest.mark.parametrize("has_windows", [False, True])
def test_a_storage_ends_with_its_owner_and_takes_what_was_captured_along(
    kept: KVFormat, has_windows: bool
) -> None:
    config = replace(CONFIG, sliding_window=10, sliding_layers=(True, False, True))
    decoder, graphs = _decoder(config if has_windows else CONFIG), FakeGraphs()
    steps = capture(decoder, graphs)
    geometry = window_geometry(
        config, num_blocks=8, window_blocks=8, block_size=BLOCK, chunk=8, kept=kept
    )

    def serve() -> tuple[weakref.ref[PagedStorage], torch.Tensor]:
        if not has_windows:
            storage = make_storage(CONFIG, 32, BLOCK, kept)
            logits = forward(decoder, storage, CachedSequence((3,)).chunk([9], 1))
            return weakref.ref(storage), logits
        served = Served(decoder, geometry)
        served.open("a", [9])
        return weakref.ref(served.storage.parts[0]), served.read({"a": [9]}, [1])[0]

    gc.collect()
    gc.disable()  # the memory comes back at once
    try:
        storage, first = serve()
        assert graphs.captures == 1
        assert storage() is None
        assert steps.num_graphs == 0
    finally:
        gc.enable()
    torch.testing.assert_close(serve()[1], first)
    assert graphs.captures == 2


def test_the_end_of_a_storage_before_leaves_the_present_one_alone() -> None:
    decoder, graphs = _decoder(), FakeGraphs()
    steps = capture(decoder, graphs)
    storages = [make_storage(CONFIG, 32, BLOCK) for _ in range(2)]
    for storage in storages:
        forward(decoder, storage, CachedSequence((3,)).chunk([9], 1))
    del storages[0], storage
    assert steps.num_graphs == 1
    assert steps._storage is not None
    assert steps._storage() is storages[0]


def test_a_new_length_of_tables_is_a_new_graph_and_their_number_is_bounded() -> None:
    decoder = _decoder(replace(CONFIG, max_position_embeddings=512))
    steps = capture(decoder, FakeGraphs())
    storage = make_storage(CONFIG, 128, BLOCK)
    text = CachedSequence(tuple(range(128)))
    text.computed = 40
    for count in (16, 17, 40, 128):
        text.block_ids = tuple(range(count))
        forward(decoder, storage, text.chunk([3], 1))
    assert list(steps._graphs) == [(1, 16), (1, 32), (1, 64), (1, 128)]


def test_the_other_way_is_taken_where_one_fails(caplog: pytest.LogCaptureFixture) -> None:
    def no_compiler(storage: PagedStorage, shape: DecoderShape) -> RowsKind:
        del storage, shape
        raise ImportError("Triton is not installed")

    decoder, graphs = _decoder(), FakeGraphs()
    steps = capture(decoder, graphs, (no_compiler, gathered))
    storage = make_storage(CONFIG, 8, BLOCK)
    with caplog.at_level(logging.INFO, logger="engine.model.captured.steps"):
        for token in (3, 4):
            forward(decoder, storage, CachedSequence((1,)).chunk([token], 1))
    assert graphs.replays == 2
    assert len(caplog.records) == 1
    assert decoder.kernels[-1] == steps.fact
    assert "one captured graph a step, gathered attention, as" in steps.fact
    assert "(ImportError: Triton is not installed)" in steps.fact


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("no room\nat all"), OSError("no driver"), RuntimeError()]
)
def test_a_failed_capture_is_told_once_and_steps_run_eagerly(
    error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    plain, decoder, graphs = _decoder(), _decoder(), BrokenGraphs(error)
    capture(decoder, graphs)
    storages = [make_storage(CONFIG, 8, BLOCK) for _ in range(2)]
    with caplog.at_level(logging.INFO, logger="engine.model.captured.steps"):
        for token in (3, 4, 5):
            ours, theirs = (
                forward(d, s, CachedSequence((1,)).chunk([token], 1))
                for d, s in zip((decoder, plain), storages, strict=True)
            )
            torch.testing.assert_close(ours, theirs)
    assert graphs.attempts == len(caplog.records) == 1
    assert decoder.kernels[-1].startswith("decode: kernel by kernel, as capturing")
    assert "at all" not in decoder.kernels[-1]


def test_no_room_for_all_positions_is_a_failed_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    decoder, graphs = _decoder(), FakeGraphs()
    steps = capture(decoder, graphs)
    reserve = decoder.reserve

    def full(num_positions: int) -> None:
        if num_positions > 8:
            raise torch.OutOfMemoryError("no room")
        reserve(num_positions)

    monkeypatch.setattr(decoder, "reserve", full)
    storage = make_storage(CONFIG, 8, BLOCK)
    assert forward(decoder, storage, CachedSequence((1,)).chunk([3], 1)).isfinite().all()
    assert (graphs.captures, steps.num_graphs) == (0, 0)
    assert "OutOfMemoryError: no room" in steps.fact


@pytest.mark.parametrize("kept", [KVFormat.FLOAT32, KVFormat.INT8, KVFormat.INT4])
def test_what_others_left_in_a_block_changes_nothing(kept: KVFormat) -> None:
    twins = _Twins(kept, (3, 17))
    for storage in twins.storages:
        left = storage.parameters if isinstance(storage, QuantizedStorage) else storage.pool
        left.fill_(torch.nan)
    for name in (0, 1):
        twins.step([name])
    for _ in range(2):
        twins.step([0, 1])
    assert twins.graphs.replays == 2


def test_the_fake_is_as_strict_as_a_card() -> None:
    graphs, held = FakeGraphs(), [torch.ones(3)]

    def moved() -> torch.Tensor:
        return held[-1] * 2

    replay = graphs.capture(moved)
    assert replay().tolist() == [2, 2, 2]
    held.append(torch.ones(3))
    with pytest.raises(AssertionError, match="operation 0 is another one"):
        replay()
    for step in (
        lambda: held[0] * float(held[0][0]),
        lambda: held[0][held[0] > 0],
        held[0].nonzero,
        lambda: held[0] + torch.tensor([1.0, 2.0, 3.0]),
    ):
        with pytest.raises(NotCapturableError):
            graphs.capture(step)


def test_only_what_waits_for_nothing_is_captured() -> None:
    decoder = _decoder()
    layers, head = decoder._layers, decoder._head
    assert why_not(layers, head) is None
    mixture = ExpertMixture(head, (layers[0].feed_forward,), 1, is_normalised=False)
    odd = replace(layers[1], feed_forward=mixture)
    assert why_not((layers[0], odd), head) == "the experts of a token are chosen on the host"
    if open_core() is not None:
        eight = build_native(
            StateDictSource(
                replace(CONFIG, hidden_size=64),
                random_state_dict(replace(CONFIG, hidden_size=64)),
            ),
            Precision.INT8,
        )
        reason = why_not(eight._layers, eight._head)
        assert reason is not None
        assert reason.startswith("it cannot be captured: INT8 product")


def test_the_cpu_captures_nothing_and_imports_no_triton() -> None:
    decoder = _decoder()
    assert decoder._captured is None
    assert capture_on(CPU, decoder._layers, decoder._head) is None
    assert not any(line.startswith("decode:") for line in decoder.kernels)
    code = "import sys, engine.service, engine.model.native; sys.exit('triton' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=120).returncode == 0


@pytest.mark.parametrize(
    ("kept", "token_bytes"), [(KVPrecision.FP32, 512), (KVPrecision.INT4, 96)]
)
def test_answers_of_the_engine_are_the_same(
    tmp_path: Path, kept: KVPrecision, token_bytes: int
) -> None:
    path = write_tiny_model(tmp_path / "tiny.gguf")
    options = ModelOptions(
        str(path),
        weights=Precision.FP32,
        kv=kept,
        context_length=96,
        kv_budget_bytes=112 * token_bytes,
        prefix_cache=False,
    )
    graphs, found = FakeGraphs(), []

    def load(*given) -> LoadedModel:
        model = load_model(*given)
        assert isinstance(model.decoder, NativeDecoder)
        capture(model.decoder, graphs if found else BrokenGraphs(RuntimeError("for comparison")))
        found.append(model)
        return model

    outputs = []
    for _ in range(2):
        core = EngineCore(load)
        assert isinstance(core.load(options)[-1], ModelReady)
        outputs.append(answers(core, staggered_requests()))
        core.unload()
    assert outputs[0] == outputs[1]
    assert outputs[0][1] > 0, "nobody gave way"
    assert graphs.captures >= 2
    assert graphs.replays > 40
