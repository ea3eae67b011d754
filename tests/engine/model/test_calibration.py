"""The pass over a text: it goes where the decoder goes, and its weights are better for it."""

from dataclasses import replace

import pytest
import torch

from engine.api import Precision
from engine.cli.eval import PASSAGES
from engine.errors import LoadCancelledError
from engine.model.calibration import CalibratedLayers, calibration_texts, cut_prompts
from engine.model.config import ExpertConfig, ModelConfig
from engine.model.source import optional_shapes, required_shapes
from engine.quant.layout import DenseWeight, GroupedInt4Weight
from engine.quant.quantize import to_grouped_int4
from tests.helpers.decoding import CachedSequence, all_logits, build_native, make_storage

CONFIG = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=61,
    hidden_size=64,
    intermediate_size=96,
    num_layers=3,
    num_heads=4,
    num_kv_heads=2,
    head_dim=32,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_position_embeddings=512,
    tie_word_embeddings=True,
)
FAMILIES = {
    "llama": CONFIG,
    "biases": replace(CONFIG, attention_bias=True, mlp_bias=True),
    "norms before and after, windows": replace(
        CONFIG,
        norms="both",
        qk_norm="head",
        activation="gelu_tanh",
        embedding_scale=3.0,
        residual_scale=0.7,
        sliding_window=20,
        sliding_layers=(True, False, True),
        local_rope_theta=500.0,
    ),
    "norms after": replace(CONFIG, norms="after", qk_norm="projection"),
    "odd widths": replace(CONFIG, intermediate_size=72),
}
LENGTHS = (40, 33, 7)
PROMPTS = [
    torch.randint(61, (n,), generator=torch.Generator().manual_seed(n)).tolist() for n in LENGTHS
]


class RandomSource:
    """Dense random weights of any shape of model, some of them replaced."""

    def __init__(self, config: ModelConfig, replaced=None) -> None:
        self.config = config
        self.shapes = required_shapes(config)
        if config.attention_bias:
            self.shapes |= optional_shapes(config)
        draw = torch.Generator().manual_seed(1)
        self._values = {
            name: torch.randn(shape, generator=draw) * 0.15 + (len(shape) == 1)
            for name, shape in self.shapes.items()
        }
        self.replaced = replaced or {}

    def has(self, name: str) -> bool:
        return name in self._values

    def weight(self, name: str):
        return self.replaced.get(name) or DenseWeight(self._values[name])

    def vector(self, name: str) -> torch.Tensor:
        return self._values[name]


def nothing(*_: int) -> None:
    """Go on."""


def calibrate(source: RandomSource) -> tuple[CalibratedLayers, dict[str, GroupedInt4Weight]]:
    layers = CalibratedLayers(source, PROMPTS, nothing, nothing)
    made = {name: layers.take(name) for name, shape in source.shapes.items() if len(shape) == 2}
    return layers, {name: weight for name, weight in made.items() if weight is not None}


def logits_of(source: RandomSource, precision: Precision) -> torch.Tensor:
    """Of all prompts, one after the other."""
    decoder = build_native(source, precision)
    storage = make_storage(source.config, 9, 16)
    return torch.cat(
        [
            all_logits(decoder, storage, CachedSequence((2, 5, 1)), ids, [len(ids)])
            for ids in PROMPTS
        ]
    )


@pytest.mark.parametrize("config", FAMILIES.values(), ids=FAMILIES)
def test_the_text_goes_through_the_layers_as_in_the_decoder(config, monkeypatch):
    config = replace(config, tie_word_embeddings=False)  # a shared table is rounded
    source = RandomSource(config)
    layers, made = calibrate(source)
    assert len(made) == (7 if config.intermediate_size % 32 == 0 else 6) * config.num_layers
    monkeypatch.setattr("engine.model.native.make_native_step", lambda *_: None)
    calibrated = RandomSource(config, made)
    found = logits_of(calibrated, Precision.INT4)
    decoder = build_native(calibrated, Precision.INT4)
    expected = decoder._logits(layers._trunk.hidden)
    errors = (found - expected).norm(dim=-1) / expected.norm(dim=-1)
    # sums in another order may fall on the other side between two quants
    assert float(errors.median()) < 0.01
    assert float(errors.max()) < 0.1


@pytest.mark.parametrize("config", list(FAMILIES.values())[:4], ids=list(FAMILIES)[:4])
def test_the_model_is_closer_to_full_precision_than_with_plain_weights(config):
    source = RandomSource(config)
    _, made = calibrate(source)
    plain = {name: to_grouped_int4(source.weight(name)) for name in made}
    exact = logits_of(source, Precision.FP32)
    errors = [
        float((logits_of(RandomSource(config, weights), Precision.INT4) - exact).norm())
        for weights in (made, plain)
    ]
    assert errors[0] < 0.8 * errors[1]


def test_experts_are_left_to_plain_quantisation():
    config = replace(
        CONFIG, norms="before", experts=ExpertConfig(count=4, per_token=2, intermediate_size=32)
    )
    source = RandomSource(config)
    _, made = calibrate(source)
    parts = {name.partition(".")[2].partition(".")[2] for name in made}
    assert parts == {"q", "k", "v", "o"}


def test_matrices_of_four_bits_stay_as_they_are():
    source = RandomSource(CONFIG)
    kept = {f"layers.{i}.q": to_grouped_int4(source.weight(f"layers.{i}.q")) for i in range(3)}
    _, made = calibrate(RandomSource(CONFIG, kept))
    for name, weight in kept.items():
        assert made[name] is weight


def test_layers_that_are_not_asked_for_are_made_all_the_same():
    source = RandomSource(CONFIG)
    _, made = calibrate(source)
    layers = CalibratedLayers(source, PROMPTS, nothing, nothing)
    assert layers.take("embed") is None
    assert layers.take("head") is None
    last = layers.take("layers.2.down")
    assert torch.equal(last.dequantize(), made["layers.2.down"].dequantize())
    assert layers.take("layers.2.router") is None


def test_every_product_is_reported_in_order():
    seen = []
    layers = CalibratedLayers(RandomSource(CONFIG), PROMPTS, lambda *s: seen.append(s), nothing)
    layers.take("layers.2.q")
    assert {total for _, total in seen} == {12}
    done = [step for step, _ in seen]
    assert done == sorted(done)
    assert (done[0], done[-1]) == (0, 12)


def test_it_can_be_stopped_at_every_question():
    asked = 0

    def stop(*_: int) -> None:
        nonlocal asked
        asked += 1
        if asked == last:
            raise LoadCancelledError("Loading was stopped.")

    for last in (1, 2, 5, 20):  # noqa: B007 - read by stop
        asked = 0
        layers = CalibratedLayers(RandomSource(CONFIG), PROMPTS, stop, stop)
        with pytest.raises(LoadCancelledError):
            layers.take("layers.2.q")


def test_texts_are_cut_to_the_context():
    assert cut_prompts([[1] * 10, [2] * 3], 4) == [[1] * 4, [1] * 4, [1] * 2, [2] * 3]
    assert [len(part) for part in cut_prompts([[0] * 1100], 8192)] == [512, 512, 76]


def test_built_in_texts_are_small_and_not_those_of_the_evaluation():
    texts = calibration_texts()
    assert len(texts) >= 4
    assert 10_000 < sum(len(text.encode()) for text in texts) < 30_000
    measured = " ".join(path.read_text("utf-8") for path in PASSAGES.glob("*.txt"))
    sentences = [line for text in texts for line in text.splitlines() if len(line) > 15]
    assert not [line for line in sentences if line in measured]
