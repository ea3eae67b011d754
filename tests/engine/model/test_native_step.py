"""The native step against its twin: the same decoder, layer by layer through torch.

Weights are packed once and shared, so that the two differ by the order of float sums alone. That
order decides where a value lies halfway between two quants, and later layers and tokens carry it
on: exact agreement is asked of one layer, and of most rows.
"""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from engine.api import ModelOptions, Precision
from engine.config import KVFormat
from engine.kernels import decode_step
from engine.kernels.decode_step import RotaryRows, StepBatch, StepSegment, StepWindow
from engine.kernels.library import instruction_sets, open_core
from engine.kv.split import SplitStorage
from engine.model.batch import ForwardInterruptedError
from engine.model.config import ModelConfig, RopeScaling
from engine.model.loader import load_model
from engine.model.native import NativeDecoder
from engine.model.native_step import _cache_of
from engine.quant import native_cpu
from engine.runner import build_batch
from engine.scheduling.plan import StepPlan
from tests.helpers.decoding import (
    CPU,
    CachedSequence,
    all_logits,
    build_native,
    forward,
    make_storage,
    never,
)
from tests.helpers.state_dict_source import StateDictSource, random_state_dict

pytestmark = pytest.mark.skipif(open_core() is None, reason="the native core was not built")

CONFIG = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=61,
    hidden_size=96,
    intermediate_size=160,
    num_layers=3,
    num_heads=6,
    num_kv_heads=2,
    head_dim=32,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_position_embeddings=512,
)
FAMILIES = {
    "llama": CONFIG,
    "wide heads, odd group": replace(CONFIG, head_dim=96, num_heads=5, num_kv_heads=1),
    "no shared heads": replace(CONFIG, num_kv_heads=6, head_dim=64),
    "windows": replace(
        CONFIG, sliding_window=50, sliding_layers=(True, False, True), local_rope_theta=500.0
    ),
    "gelu and scales": replace(
        CONFIG,
        activation="gelu_tanh",
        attention_scale=0.2,
        embedding_scale=3.0,
        residual_scale=0.7,
        logit_scale=0.5,
        logit_softcap=4.0,
    ),
    "half of a head rotates, stretched": replace(
        CONFIG, head_dim=64, rotary_dim=32, rope_scaling=RopeScaling("linear", factor=4.0)
    ),
    "layers that do not rotate": replace(CONFIG, unrotated_layers=(False, True, False)),
    "tied": replace(CONFIG, tie_word_embeddings=True),
}
QUANTISED = [kept for kept in KVFormat if kept.is_quantised]
FLOATING = [kept for kept in KVFormat if not kept.is_quantised]
PASSAGE = Path(__file__).parents[3] / "resources" / "passages" / "alice.txt"
NUM_TOKENS = 200
IDS = torch.randint(61, (NUM_TOKENS,), generator=torch.Generator().manual_seed(5)).tolist()
SCATTERED = tuple(torch.randperm(40, generator=torch.Generator().manual_seed(6)).tolist())


def decoder_of(config, precision=Precision.INT8):
    decoder = build_native(StateDictSource(config, random_state_dict(config)), precision)
    assert decoder._step is not None
    return decoder


def without_step(decoder):
    """The same weights through torch."""
    return NativeDecoder(
        decoder.config, decoder._embedding, decoder._layers, decoder._norm, decoder._head
    )


@pytest.fixture
def twin(monkeypatch):
    def make(decoder):
        monkeypatch.setattr("engine.model.native.make_native_step", lambda *_: None)
        return without_step(decoder)

    return make


def errors_of(native, slow):
    return (native - slow).norm(dim=-1) / slow.norm(dim=-1)


def assert_agree(native, slow):
    """As far as several layers do."""
    errors = errors_of(native, slow)
    assert float(errors[0]) < 1e-5
    assert float(errors.median()) < 2e-2
    assert float(errors.max()) < 1e-1


def assert_same(native, slow):
    errors = errors_of(native, slow)
    assert float(errors.quantile(0.6)) < 1e-5
    assert float(errors.max()) < 5e-2


def one_layer(config, index):
    """The model with layer ``index`` alone."""
    return replace(
        config,
        num_layers=1,
        sliding_layers=config.sliding_layers[index : index + 1],
        unrotated_layers=config.unrotated_layers[index : index + 1],
    )


def balance(storage):
    """Give each channel of keys a factor and a centre of its own."""
    draw = torch.Generator().manual_seed(8)
    for layer in range(storage.geometry.num_layers):
        shape = storage.centres[layer].shape
        factors, centres = torch.rand(shape, generator=draw), torch.randn(shape, generator=draw)
        storage.balance(layer, factors * 1.5 + 0.5, centres)


def run_all(decoder, lengths, block_size=16, kept=KVFormat.FLOAT32, prepare=None):
    storage = make_storage(decoder.config, 40, block_size, kept)
    if prepare is not None:
        prepare(storage)
    needed = -(-sum(lengths) // block_size)
    sequence = CachedSequence(tuple(b for b in SCATTERED if b < 40)[:needed])
    ids = (IDS * (-(-sum(lengths) // NUM_TOKENS)))[: sum(lengths)]
    return all_logits(decoder, storage, sequence, ids, lengths)


@pytest.mark.parametrize("config", FAMILIES.values(), ids=FAMILIES)
def test_families_agree_with_torch(config, twin):
    decoder = decoder_of(config)
    lengths = [130, 1, 1, 2, 3, 60, 1, 1, 1]
    assert_agree(run_all(decoder, lengths), run_all(twin(decoder), lengths))


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("config", FAMILIES.values(), ids=FAMILIES)
def test_a_layer_computes_what_torch_does(config, index, twin):
    decoder = decoder_of(one_layer(config, index))
    lengths = [130, 1, 1, 2, 3, 60, 1, 1, 1]
    assert_same(run_all(decoder, lengths), run_all(twin(decoder), lengths))


def test_the_sheet_says_how_layers_run(twin):
    decoder = decoder_of(CONFIG)
    assert decoder.kernels[-1] == "layers: one native call a step"
    assert twin(decoder).kernels == decoder.kernels[:-1]


@pytest.mark.parametrize("precision", [Precision.INT4, Precision.INT8])
def test_first_tokens_agree_closely(precision, twin):
    decoder = decoder_of(CONFIG, precision)
    torch.testing.assert_close(
        run_all(decoder, [2, 1]), run_all(twin(decoder), [2, 1]), rtol=1e-4, atol=1e-4
    )


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("kept", FLOATING)
def test_instruction_sets_agree(name, kept, twin, monkeypatch):
    monkeypatch.setattr(native_cpu, "open_core", lambda: open_core(name))
    decoder = decoder_of(one_layer(CONFIG, 0), Precision.INT4)
    lengths = [70, 1, 1]
    assert_same(run_all(decoder, lengths, kept=kept), run_all(twin(decoder), lengths, kept=kept))


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_make_no_difference(threads):
    decoder = decoder_of(one_layer(CONFIG, 0))
    lengths = [130, 1, 1, 1]
    before = torch.get_num_threads()
    expected = run_all(decoder, lengths)
    try:
        torch.set_num_threads(threads)
        logits = run_all(decoder, lengths)
    finally:
        torch.set_num_threads(before)
    assert_same(logits, expected)


@pytest.mark.parametrize("block_size", [5, 16, 64])
@pytest.mark.parametrize("lengths", [[193], [64, 64, 65], [190, 1, 1, 1], [1] * 70])
def test_chunks_and_pages_make_no_difference(lengths, block_size):
    decoder = decoder_of(one_layer(CONFIG, 0))
    total = sum(lengths)
    assert_same(run_all(decoder, lengths, block_size), run_all(decoder, [total], 16))


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("kept", KVFormat)
@pytest.mark.parametrize("family", ["llama", "windows", "wide heads, odd group"])
def test_verifying_guesses_gives_the_very_numbers_of_single_steps(name, kept, family, monkeypatch):
    """Bit by bit, across the places where parts of the keys begin: guesses change no answer."""
    monkeypatch.setattr(native_cpu, "open_core", lambda: open_core(name))
    decoder = decoder_of(FAMILIES[family])
    alone = run_all(decoder, [100] + [1] * 60, kept=kept)
    together = run_all(decoder, [100, 2, 3, 5, 17, 1, 32], kept=kept)
    assert torch.equal(alone, together)


def test_a_batch_computes_what_single_requests_do():
    decoder = decoder_of(CONFIG)
    starts = (3, 70, 129, 40)

    def sequences():
        for i, start in enumerate(starts):
            blocks = tuple(range(10 * i, 10 * i + 10))
            yield CachedSequence(blocks), IDS[i : i + start], IDS[-i - 1]

    storage = make_storage(CONFIG, 40, 16)
    alone, chunks = [], []
    for sequence, prompt, token in sequences():
        forward(decoder, storage, sequence.chunk(prompt, 0))
        alone.append(forward(decoder, storage, sequence.chunk([token], 1)))
    for sequence, prompt, token in sequences():
        forward(decoder, storage, sequence.chunk(prompt, 0))
        chunks.append(sequence.chunk([token], 1))
    sequence = CachedSequence(tuple(range(38, 40)))
    prompt = sequence.chunk(IDS[:20], 1)
    together = forward(decoder, storage, *chunks, prompt)
    assert_agree(together[:4], torch.cat(alone))


def test_stop_between_layers_of_a_prompt():
    decoder = decoder_of(CONFIG)
    storage = make_storage(CONFIG, 40, 16)
    chunk = CachedSequence(tuple(range(10))).chunk(IDS[:100], 1)
    batch = build_batch(StepPlan((chunk,)), 16, CPU)
    answers = iter([False, False, True])
    with pytest.raises(ForwardInterruptedError):
        decoder.forward(batch, storage, lambda: next(answers))
    again = decoder.forward(batch, storage, never)
    fresh = decoder.forward(batch, make_storage(CONFIG, 40, 16), never)
    torch.testing.assert_close(again, fresh)


@pytest.mark.parametrize(
    "config",
    [
        replace(CONFIG, attention_softcap=30.0),
        replace(CONFIG, attention_bias=True),  # the o product's
        replace(CONFIG, mlp_bias=True),
        replace(CONFIG, head_dim=16),
        replace(CONFIG, rotary_dim=16),
    ],
)
def test_other_layers_go_through_torch(config):
    decoder = build_native(StateDictSource(config, random_state_dict(config)), Precision.INT8)
    assert decoder._step is None
    assert run_all(decoder, [5, 1]).isfinite().all()


# ---------------------------------------------------------------------- quantised caches
def assert_near(native, slow):
    """As far as queries in 8 bits, and values that lie halfway between two codes, allow."""
    errors = errors_of(native, slow)
    assert float(errors.median()) < 3e-2
    assert float(errors.max()) < 1e-1


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("kept", QUANTISED)
def test_instruction_sets_read_quantised_caches(name, kept, twin, monkeypatch):
    monkeypatch.setattr(native_cpu, "open_core", lambda: open_core(name))
    decoder = decoder_of(one_layer(CONFIG, 0), Precision.INT4)
    lengths = [70, 1, 1, 3, 33, 1]
    assert_near(run_all(decoder, lengths, kept=kept), run_all(twin(decoder), lengths, kept=kept))


@pytest.mark.parametrize("kept", QUANTISED)
@pytest.mark.parametrize("config", FAMILIES.values(), ids=FAMILIES)
def test_families_agree_on_quantised_caches(config, kept, twin):
    decoder = decoder_of(one_layer(config, 0))
    lengths = [130, 1, 1, 2, 3, 60, 1, 1, 1]
    assert_near(run_all(decoder, lengths, kept=kept), run_all(twin(decoder), lengths, kept=kept))


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("kept", QUANTISED)
@pytest.mark.parametrize("family", ["llama", "wide heads, odd group", "windows"])
def test_balanced_caches_are_read_alike(name, kept, family, twin, monkeypatch):
    monkeypatch.setattr(native_cpu, "open_core", lambda: open_core(name))
    decoder = decoder_of(one_layer(FAMILIES[family], 0), Precision.INT4)
    lengths = [70, 1, 1, 3, 33, 1]
    slow = twin(decoder)
    found = run_all(decoder, lengths, kept=kept, prepare=balance)
    assert_near(found, run_all(slow, lengths, kept=kept, prepare=balance))
    exact = run_all(slow, lengths)
    assert float(errors_of(found, exact).median()) < (0.04 if kept is KVFormat.INT8 else 0.2)


@pytest.mark.parametrize("prepare", [lambda _cache: None, balance], ids=["plain", "balanced"])
@pytest.mark.parametrize("kept", QUANTISED)
def test_the_core_writes_what_torch_does(kept, prepare, twin):
    decoder = decoder_of(one_layer(replace(CONFIG, head_dim=96), 0))
    slow = twin(decoder)
    caches = [make_storage(decoder.config, 8, 16, kept) for _ in range(2)]
    for cache, of in zip(caches, (decoder, slow), strict=True):
        prepare(cache)
        forward(of, cache, CachedSequence((5, 2, 7)).chunk(IDS[:37], 1))
    blocks = torch.tensor([5, 2, 7])
    for native, expected in zip(*(cache.rows(0, blocks) for cache in caches), strict=True):
        step = 2 * float(expected.amax() - expected.amin()) / (254 if kept == "int8" else 15)
        assert float((native - expected).abs().max()) < step
        assert float((native != expected).float().mean()) < 0.02
    assert torch.equal(*(cache.codes != 0 for cache in caches)) or kept == "int4"


@pytest.mark.parametrize("kept", QUANTISED)
@pytest.mark.parametrize("threads", [1, 2, 3, 7])
def test_threads_share_a_long_quantised_context(kept, threads):
    decoder = decoder_of(one_layer(CONFIG, 0))
    before = torch.get_num_threads()
    lengths = [180, 1, 1, 1]
    expected = run_all(decoder, lengths, kept=kept)
    try:
        torch.set_num_threads(threads)
        logits = run_all(decoder, lengths, kept=kept)
    finally:
        torch.set_num_threads(before)
    assert_same(logits, expected)


@pytest.mark.parametrize("name", instruction_sets())
@pytest.mark.parametrize("head_dim", [32, 64, 128, 256])
def test_tiles_of_any_width_are_put_together(name, head_dim, twin, monkeypatch):
    """Tiles hold as many keys as fit the first cache: some end within a context of 600."""
    monkeypatch.setattr(native_cpu, "open_core", lambda: open_core(name))
    config = replace(one_layer(CONFIG, 0), head_dim=head_dim, num_heads=3, num_kv_heads=1)
    decoder = decoder_of(config)
    lengths = [290, 1, 3, 45, 33, 228]
    slow = run_all(twin(decoder), lengths, kept=KVFormat.INT8)
    assert_near(run_all(decoder, lengths, kept=KVFormat.INT8), slow)


@pytest.mark.parametrize("kept", QUANTISED)
def test_guesses_where_a_tile_begins_change_nothing(kept):
    decoder = decoder_of(replace(CONFIG, head_dim=64))
    alone = run_all(decoder, [250] + [1] * 20, kept=kept)
    assert torch.equal(alone, run_all(decoder, [250, 2, 3, 15], kept=kept))


@pytest.mark.parametrize("kept", QUANTISED)
@pytest.mark.parametrize("lengths", [[193], [64, 64, 65], [190, 1, 1, 1], [1] * 70])
def test_chunks_and_pages_of_quantised_caches_make_no_difference(lengths, kept):
    decoder = decoder_of(one_layer(CONFIG, 0))
    total = sum(lengths)
    assert_same(run_all(decoder, lengths, 64, kept), run_all(decoder, [total], 16, kept))


def test_other_caches_go_through_torch():
    decoder = decoder_of(CONFIG)
    odd = make_storage(CONFIG, 4, 24, KVFormat.INT8)
    assert not decoder._step.can_read(odd)
    assert not decoder._step.can_read(
        SplitStorage(odd.geometry, ((CPU, 1), (CPU, CONFIG.num_layers - 1)))
    )
    assert run_all(decoder, [5, 1], 24, KVFormat.INT8).isfinite().all()


@pytest.mark.flow
def test_real_weights_agree_with_torch(starter_model, twin):
    options = ModelOptions(path=str(starter_model), context_length=256, max_streams=1)
    model = load_model(options, lambda _progress: None, never)
    assert model.config.kv.format is KVFormat.INT8
    ids = model.tokenizer.encode_prompt(PASSAGE.read_text("utf-8"))[:60]
    slow = twin(model.decoder)
    for kept in KVFormat:
        found = []
        for decoder in (model.decoder, slow):
            storage = make_storage(decoder.config, 4, 16, kept)
            sequence = CachedSequence((3, 1, 0, 2))
            lengths = [45, 1, 1, 1, 1, 7, 3, 1]
            logits = all_logits(decoder, storage, sequence, ids, lengths)
            found.append(logits.log_softmax(-1))
        native, expected = found
        divergence = (expected.exp() * (expected - native)).sum(-1)
        # rounding anywhere moves whole steps of INT4, and the next layers carry them on
        allowed = 0.1 if kept is KVFormat.INT4 else 0.02
        assert float(divergence.mean()) < allowed, kept
        # one in thirteen tokens leads by less than a tenth of a nat: those any rounding may turn
        first, second = expected.topk(2).values.unbind(-1)
        is_other = native.argmax(-1) != expected.argmax(-1)
        assert not bool((is_other & (first - second > 15 * allowed)).any()), kept
        is_clear = first - second > 5 * allowed
        assert float(is_other[is_clear].float().mean()) < 3 * allowed, kept


# ---------------------------------------------------------------------- kinds of layers
def step_batch(decoder, start, end, blocks):
    """Tokens [start, end) of IDS, in a cache with these blocks."""
    rows = torch.arange(start, end)
    return StepBatch(
        embedded=decoder._embed(torch.tensor(IDS[start:end])),
        positions=rows,
        slots=torch.tensor(blocks)[rows // 16] * 16 + rows % 16,
        logit_rows=torch.arange(end - start),
        segments=[StepSegment(0, end - start, start, blocks)],
        rotations=[RotaryRows(*table.halves) for table in decoder._tables],
    )


@pytest.mark.parametrize("kept", [KVFormat.FLOAT32, KVFormat.INT8, KVFormat.INT4])
def test_layers_of_each_kind_have_a_cache_and_tables_of_their_own(kept):
    """Bit by bit what one cache for all of them gives."""
    config = FAMILIES["windows"]
    decoder = decoder_of(config)
    for table in decoder._tables:
        table.reserve(128)
    step = decoder._step._step
    whole = _cache_of(make_storage(config, 40, 16, kept))
    full = _cache_of(make_storage(replace(config, num_layers=1), 20, 16, kept))
    window = _cache_of(make_storage(replace(config, num_layers=2), 30, 16, kept))
    full, window = replace(full, layers=(1,)), replace(window, layers=(0, 2))
    for start, end in ((0, 100), (100, 101), (101, 104), (104, 120)):
        batch = step_batch(decoder, start, end, (4, 5, 9, 8, 0, 1, 2, 39))
        together = step.run(batch, whole, 2, never)
        batch = step_batch(decoder, start, end, (7, 2, 9, 1, 0, 3, 4, 5))
        seen = step_batch(decoder, start, end, (11, 25, 3, 29, 0, 1, 2, 28))
        windows = [StepWindow(window, seen.slots, [seen.segments[0].block_ids])]
        assert torch.equal(together, step.run(batch, full, 2, never, windows))


def test_a_step_that_takes_long_is_asked_on_the_way(monkeypatch):
    monkeypatch.setattr(decode_step, "_PIECE_NS", 1 << 60)
    decoder = decoder_of(CONFIG)
    storage = make_storage(CONFIG, 40, 16)
    sequence = CachedSequence((0, 1))
    forward(decoder, storage, sequence.chunk(IDS[:3], 1))
    asked = []
    batch = build_batch(StepPlan((sequence.chunk(IDS[3:4], 1),)), 16, CPU)

    def ask():
        asked.append(True)
        return False

    plain = decoder.forward(batch, storage, ask)
    assert len(asked) == 1
    monkeypatch.setattr(decode_step, "_PIECE_NS", 1)
    decoder.forward(batch, storage, ask)  # from what it takes the next step knows
    asked.clear()
    assert torch.equal(decoder.forward(batch, storage, ask), plain)
    assert len(asked) == CONFIG.num_layers
