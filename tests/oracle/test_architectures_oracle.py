"""Every native family against transformers: the same random weights, the same logits, in float32.

One tiny model a case goes through save_pretrained and our own folder reader. Prompts are longer
than every window and than the original context of every scaled rope.
"""

import os
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM, PreTrainedModel

from engine.model.architectures import gemma3
from engine.model.gguf_source import GgufSource
from engine.model.hf_config import hf_names
from engine.model.hf_source import HfSource
from engine.model.native import NativeDecoder
from engine.model.text_parts import read_text_parts
from tests.helpers.decoding import CachedSequence, all_logits, build_native, forward, make_storage
from tests.helpers.gguf_convert import write_gguf

pytestmark = pytest.mark.oracle

NUM_TOKENS = 75
WINDOW = 11
SCHEDULES = {
    "whole prefill": (NUM_TOKENS,),
    "odd chunks": (7, 1, 19, 2, 1, 45),
    "prefill then decode": (60, *(1,) * 15),
}
# scattered and out of order: the cache is gathered
BLOCKS = (9, 4, 5, 17, 0, 2, 11, 12, 3, 1)
BASE: Mapping[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}


def _rope(kind: str, **parameters: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": 10_000.0, **parameters}}


def _gemma_rope(factor: float) -> dict[str, Any]:
    return {
        "rope_parameters": {
            "full_attention": {"rope_type": "linear", "factor": factor, "rope_theta": 5e4},
            "sliding_attention": {"rope_type": "default", "rope_theta": 10_000.0},
        }
    }


def _factors(first: float, step: float, count: int = 4) -> list[float]:
    return [first + step * index for index in range(count)]


@dataclass(frozen=True)
class Case:
    """A configuration; ``context``: the most tokens a request may have (0: the trained context)."""

    model_type: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    context: int = 0


YARN = _rope("yarn", factor=4.0, original_max_position_embeddings=32)
LONGROPE = {
    **_rope("longrope", short_factor=_factors(1.0, 0.1), long_factor=_factors(1.0, 1.5)),
    "original_max_position_embeddings": 32,
}
CASES = {
    "llama, dynamic": Case(
        "llama", {**_rope("dynamic", factor=3.0), "max_position_embeddings": 32}, NUM_TOKENS
    ),
    "llama, yarn": Case("llama", YARN),
    "llama, yarn with all options": Case(
        "llama",
        _rope(
            "yarn",
            factor=4.0,
            original_max_position_embeddings=32,
            beta_fast=16.0,
            beta_slow=0.5,
            mscale=0.8,
            mscale_all_dim=0.3,
            truncate=False,
        ),
    ),
    "llama, yarn with a factor of its own": Case(
        "llama",
        _rope("yarn", factor=8.0, original_max_position_embeddings=16, attention_factor=0.7),
    ),
    "mistral": Case("mistral", {"sliding_window": WINDOW, "head_dim": 16}),
    "qwen2": Case("qwen2"),
    "qwen2, sliding above, tied": Case(
        "qwen2",
        {
            "use_sliding_window": True,
            "sliding_window": WINDOW,
            "max_window_layers": 1,
            "tie_word_embeddings": True,
        },
    ),
    "qwen3": Case("qwen3", {"head_dim": 16, "rms_norm_eps": 1e-3}),
    "qwen3, yarn": Case("qwen3", {"head_dim": 16, **YARN}),
    "smollm3": Case("smollm3", {"num_hidden_layers": 4}),
    "gemma2": Case(
        "gemma2",
        {
            "head_dim": 16,
            "sliding_window": WINDOW,
            "query_pre_attn_scalar": 24,
            "attn_logit_softcapping": 2.0,
            "final_logit_softcapping": 3.0,
        },
    ),
    "gemma3": Case(
        "gemma3_text",
        {
            "head_dim": 16,
            "num_key_value_heads": 1,
            "num_hidden_layers": 7,
            "sliding_window": WINDOW,
            "query_pre_attn_scalar": 24,
        },
    ),
    "gemma3, linear on the full layers": Case(
        "gemma3_text",
        {
            "head_dim": 16,
            "layer_types": ["sliding_attention", "full_attention", "sliding_attention"],
            "sliding_window": 2 * WINDOW,
            "rope_parameters": {
                "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 5e4},
                "sliding_attention": {"rope_type": "default", "rope_theta": 500.0},
            },
        },
    ),
    "gemma3, a window as long as the context": Case(
        "gemma3_text", {"head_dim": 16, "sliding_window": 256}
    ),
    "phi3": Case("phi3", {"sliding_window": WINDOW}),
    "phi3, longrope beyond the original context": Case("phi3", LONGROPE),
    "phi3, longrope within the original context": Case(
        "phi3", {**LONGROPE, "original_max_position_embeddings": 80}, 80
    ),
    "phi3, partial rotation": Case(
        "phi3",
        {
            "num_attention_heads": 3,
            "num_key_value_heads": 1,
            **_rope(
                "longrope",
                partial_rotary_factor=0.75,
                short_factor=_factors(1.0, 0.1, 6),
                long_factor=_factors(1.0, 1.5, 6),
            ),
            "original_max_position_embeddings": 32,
        },
    ),
    "olmo2": Case("olmo2"),
    "granite": Case(
        "granite",
        {
            "embedding_multiplier": 3.0,
            "attention_multiplier": 0.2,
            "residual_multiplier": 0.4,
            "logits_scaling": 5.0,
            "tie_word_embeddings": True,
        },
    ),
    "qwen3_moe": Case(
        "qwen3_moe",
        {
            "head_dim": 16,
            "num_experts": 8,
            "num_experts_per_tok": 3,
            "moe_intermediate_size": 24,
            "norm_topk_prob": True,
        },
    ),
    "qwen3_moe, weights as they are": Case(
        "qwen3_moe",
        {
            "head_dim": 16,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 24,
            "norm_topk_prob": False,
        },
    ),
    "qwen3_moe, dense layers between": Case(
        "qwen3_moe",
        {
            "head_dim": 16,
            "num_hidden_layers": 6,
            "num_experts": 4,
            "num_experts_per_tok": 2,
            "moe_intermediate_size": 24,
            "mlp_only_layers": [3],
            "decoder_sparse_step": 2,
        },
    ),
    "mixtral": Case(
        "mixtral",
        {
            "num_local_experts": 4,
            "num_experts_per_tok": 2,
            "sliding_window": WINDOW,
            "head_dim": 8,
        },
    ),
}


def _random_model(case: Case) -> PreTrainedModel:
    settings = AutoConfig.for_model(case.model_type, **{**BASE, **case.changes})
    model = AutoModelForCausalLM.from_config(settings, attn_implementation="eager").float().eval()
    draw = torch.Generator().manual_seed(3)
    for name, values in model.named_parameters():
        noise = torch.randn(values.shape, generator=draw)
        # far from their neutral values, so that no part of the model goes unseen
        values.data = (
            noise * 0.3 + (1.0 if "norm" in name else 0.0) if values.dim() == 1 else (noise * 0.15)
        )
    return model


@dataclass(frozen=True)
class Pair:
    """Our decoder, a prompt, and the logits transformers gives for it in one forward pass."""

    decoder: NativeDecoder
    ids: list[int]
    expected: torch.Tensor


@pytest.fixture(scope="module", params=CASES.values(), ids=CASES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pair:
    case: Case = request.param
    folder = tmp_path_factory.mktemp("model")
    ids = torch.randint(97, (NUM_TOKENS,), generator=torch.Generator().manual_seed(1))
    model = _random_model(case)
    model.save_pretrained(folder)
    with torch.inference_mode():
        expected = model(ids.unsqueeze(0), use_cache=False).logits[0]
    with closing(HfSource.open(folder)) as source:
        decoder = build_native(source)
    if case.context:
        decoder.set_context(case.context)
    return Pair(decoder, ids.tolist(), expected)


@pytest.mark.parametrize("lengths", SCHEDULES.values(), ids=SCHEDULES)
def test_logits_equal_transformers(pair: Pair, lengths: tuple[int, ...]) -> None:
    storage = make_storage(pair.decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(pair.decoder, storage, CachedSequence(BLOCKS), pair.ids, lengths)
    assert float(pair.expected.std()) > 0.05
    torch.testing.assert_close(logits, pair.expected, atol=1e-4, rtol=1e-4)


def test_a_batch_computes_what_single_requests_do(pair: Pair) -> None:
    """A decode far along, a chunk that crosses the window and a fresh prompt share a step."""
    storage = make_storage(pair.decoder.config, num_blocks=40, block_size=8)
    far, middle, fresh = (CachedSequence(tuple(range(i, 40, 3))) for i in range(3))
    forward(pair.decoder, storage, far.chunk(pair.ids[:70], 0), middle.chunk(pair.ids[:9], 0))
    logits = forward(
        pair.decoder,
        storage,
        far.chunk(pair.ids[70:71], 1),
        middle.chunk(pair.ids[9:33], 24),
        fresh.chunk(pair.ids[:5], 5),
    )
    expected = torch.cat((pair.expected[70:71], pair.expected[9:33], pair.expected[:5]))
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


# GGUF knows no window for Mistral and no upper one for Qwen, and leaves the scale of Gemma's scores
# to its readers.
GGUF_CASES = {
    "llama, yarn": Case("llama", YARN),
    "llama with the rope of mistral": Case("mistral", {"sliding_window": None, "head_dim": 16}),
    "qwen2": CASES["qwen2"],
    "qwen3, yarn": CASES["qwen3, yarn"],
    "smollm3": CASES["smollm3"],
    "gemma2": Case("gemma2", {**CASES["gemma2"].changes, "query_pre_attn_scalar": 16}),
    "gemma3, linear": Case(
        "gemma3_text",
        {
            "head_dim": 16,
            "num_hidden_layers": 6,
            "sliding_window": WINDOW,
            "query_pre_attn_scalar": 16,
            **_gemma_rope(factor=4.0),
        },
    ),
    "phi3, partial rotation": CASES["phi3, partial rotation"],
    "olmo2": CASES["olmo2"],
    "granite": CASES["granite"],
    "qwen3_moe": CASES["qwen3_moe"],
    "mixtral": Case("mixtral", {**CASES["mixtral"].changes, "sliding_window": None}),
}


@pytest.mark.parametrize("case", GGUF_CASES.values(), ids=GGUF_CASES)
def test_a_gguf_file_gives_the_same_logits(case: Case, tmp_path: Path) -> None:
    model = _random_model(case)
    ids = torch.randint(97, (NUM_TOKENS,), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected = model(ids.unsqueeze(0), use_cache=False).logits[0]
    with closing(GgufSource.open(write_gguf(tmp_path / "tiny.gguf", model))) as source:
        decoder = build_native(source)
    storage = make_storage(decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(decoder, storage, CachedSequence(BLOCKS), ids.tolist(), (40, 35))
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


def test_an_older_gguf_file_keeps_each_expert_apart(tmp_path: Path) -> None:
    model = _random_model(GGUF_CASES["mixtral"])
    ids = torch.randint(97, (20,), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected = model(ids.unsqueeze(0), use_cache=False).logits[0]
    path = write_gguf(tmp_path / "tiny.gguf", model, experts_apart=True)
    with closing(GgufSource.open(path)) as source:
        decoder = build_native(source)
    storage = make_storage(decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(decoder, storage, CachedSequence(BLOCKS), ids.tolist(), (20,))
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.fixture(scope="module")
def gemma_model() -> Path:
    named = os.environ.get("TOKENTIDE_GEMMA_MODEL")
    if not named or not Path(named).is_file():
        pytest.skip("TOKENTIDE_GEMMA_MODEL does not name a Gemma 3 270M file")
    return Path(named)


def _reference_of(source: GgufSource) -> PreTrainedModel:
    """transformers' Gemma 3 with the file's dequantised weights."""
    config = source.config
    settings = AutoConfig.for_model(
        "gemma3_text",
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        intermediate_size=config.intermediate_size,
        num_hidden_layers=config.num_layers,
        num_attention_heads=config.num_heads,
        num_key_value_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        max_position_embeddings=config.max_position_embeddings,
        sliding_window=config.sliding_window,
        query_pre_attn_scalar=256,
    )
    model = AutoModelForCausalLM.from_config(settings).float().eval()
    weights = dict(model.named_parameters())
    for name, stored in hf_names(config, gemma3.FAMILY).items():
        if name.endswith("norm"):
            weights[stored].data = source.vector(name) - 1.0
        elif source.has(name):
            weights[stored].data = source.weight(name).dequantize()
    model.tie_weights()
    return model


def test_gemma_past_its_window(gemma_model: Path) -> None:
    """The real Gemma 3 270M, 600 tokens over a window of 512, on the same dequantised weights."""
    with closing(GgufSource.open(gemma_model)) as source:
        tokenizer, _template = read_text_parts(source.metadata, source.path)
        decoder = build_native(source)
        reference = _reference_of(source)
    ids = tokenizer.encode_prompt(Path(__file__).read_text("utf-8"))[:600]
    assert decoder.config.sliding_window == 512
    storage = make_storage(decoder.config, num_blocks=40, block_size=16)
    sequence = CachedSequence(tuple(range(40)))
    forward(decoder, storage, sequence.chunk(ids[:300], 0))
    logits = all_logits(decoder, storage, sequence, ids[300:], (1, 230, 55, *(1,) * 14))
    with torch.inference_mode():
        expected = reference(torch.tensor([ids]), logits_to_keep=300).logits[0]
    torch.testing.assert_close(logits, expected, atol=2e-3, rtol=1e-3)
