"""Our Llama against transformers': the same random weights, the same logits, in float32."""

from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM, MistralConfig, MistralForCausalLM

from engine.model.config import ModelConfig, RopeScaling
from engine.model.hf_source import HfSource
from tests.helpers.decoding import CachedSequence, all_logits, build_native, make_storage
from tests.helpers.state_dict_source import StateDictSource, random_state_dict

pytestmark = pytest.mark.oracle

BASE = ModelConfig(
    model_type="llama",
    name="tiny",
    vocab_size=97,
    hidden_size=48,
    intermediate_size=80,
    num_layers=3,
    num_heads=6,
    num_kv_heads=2,
    head_dim=8,
    rms_norm_eps=1e-5,
    rope_theta=10000.0,
    max_position_embeddings=256,
    rotary_dim=8,
)
LLAMA3 = RopeScaling(
    kind="llama3",
    factor=8.0,
    original_max_position=32,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
)
CONFIGS = {
    "gqa": BASE,
    "mha": replace(BASE, num_kv_heads=6),
    "mqa": replace(BASE, num_kv_heads=1),
    "tied": replace(BASE, tie_word_embeddings=True),
    "biases": replace(BASE, attention_bias=True, mlp_bias=True),
    "wide heads": replace(BASE, head_dim=32, rotary_dim=32),
    "theta and eps": replace(BASE, rope_theta=500000.0, rms_norm_eps=1e-3),
    "linear": replace(BASE, rope_scaling=RopeScaling(kind="linear", factor=4.0)),
    "llama3": replace(BASE, rope_scaling=LLAMA3),
}
NUM_TOKENS = 61
SCHEDULES = {
    "whole prefill": (NUM_TOKENS,),
    "odd chunks": (7, 1, 19, 2, 32),
    "prefill then decode": (40, *(1,) * 21),
}


def _rope_parameters(config: ModelConfig) -> dict[str, object]:
    scaling = config.rope_scaling
    parameters: dict[str, object] = {"rope_type": "default", "rope_theta": config.rope_theta}
    if scaling is not None:
        parameters |= {"rope_type": scaling.kind, "factor": scaling.factor}
    if scaling is not None and scaling.kind == "llama3":
        parameters |= {
            "original_max_position_embeddings": scaling.original_max_position,
            "low_freq_factor": scaling.low_freq_factor,
            "high_freq_factor": scaling.high_freq_factor,
        }
    return parameters


def _arguments(config: ModelConfig) -> dict[str, object]:
    return {
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": config.intermediate_size,
        "num_hidden_layers": config.num_layers,
        "num_attention_heads": config.num_heads,
        "num_key_value_heads": config.num_kv_heads,
        "head_dim": config.head_dim,
        "rms_norm_eps": config.rms_norm_eps,
        "max_position_embeddings": config.max_position_embeddings,
        "tie_word_embeddings": config.tie_word_embeddings,
        "rope_parameters": _rope_parameters(config),
    }


def _reference(model: torch.nn.Module, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    missing, unexpected = model.load_state_dict(weights, strict=False)
    assert not unexpected
    assert set(missing) <= {"lm_head.weight"}
    return model.float().eval()


def _llama(config: ModelConfig, weights: dict[str, torch.Tensor]) -> torch.nn.Module:
    settings = LlamaConfig(
        **_arguments(config), attention_bias=config.attention_bias, mlp_bias=config.mlp_bias
    )
    model = LlamaForCausalLM(settings)
    if config.tie_word_embeddings:
        model.tie_weights()
    return _reference(model, weights)


@pytest.mark.parametrize("lengths", SCHEDULES.values(), ids=SCHEDULES)
@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_logits_equal_transformers(config: ModelConfig, lengths: tuple[int, ...]) -> None:
    weights = random_state_dict(config)
    ids = torch.randint(
        config.vocab_size, (NUM_TOKENS,), generator=torch.Generator().manual_seed(1)
    )
    with torch.inference_mode():
        expected = _llama(config, weights)(ids.unsqueeze(0)).logits[0]
    decoder = build_native(StateDictSource(config, weights))
    # scattered and out of order: the cache is gathered
    blocks = (9, 4, 5, 17, 0, 2, 11, 12)
    storage = make_storage(config, num_blocks=20, block_size=8)
    logits = all_logits(decoder, storage, CachedSequence(blocks), ids.tolist(), lengths)
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


def test_mistral_without_a_window_is_a_llama() -> None:
    config = replace(BASE, model_type="mistral")
    weights = random_state_dict(config)
    ids = list(range(NUM_TOKENS))
    reference = _reference(
        MistralForCausalLM(MistralConfig(**_arguments(config), sliding_window=None)), weights
    )
    with torch.inference_mode():
        expected = reference(torch.tensor([ids])).logits[0]
    decoder = build_native(StateDictSource(config, weights))
    storage = make_storage(config, num_blocks=8, block_size=8)
    sequence = CachedSequence(tuple(range(8)))
    logits = all_logits(decoder, storage, sequence, ids, SCHEDULES["odd chunks"])
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("name", ["gqa", "tied", "biases", "llama3"])
@pytest.mark.parametrize("shard_size", ["50GB", "20KB"])
def test_a_saved_folder_gives_the_same_logits(name: str, shard_size: str, tmp_path: Path) -> None:
    """What save_pretrained writes, in one file or many, through our own reader."""
    config = CONFIGS[name]
    ids = list(range(NUM_TOKENS))
    reference = _llama(config, random_state_dict(config))
    reference.save_pretrained(tmp_path, max_shard_size=shard_size)
    with torch.inference_mode():
        expected = reference(torch.tensor([ids])).logits[0]
    with closing(HfSource.open(tmp_path)) as source:
        decoder = build_native(source)
    storage = make_storage(config, num_blocks=8, block_size=8)
    sequence = CachedSequence(tuple(range(8)))
    logits = all_logits(decoder, storage, sequence, ids, SCHEDULES["whole prefill"])
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)
