"""Folders that read pictures, too: their text part against transformers' own whole model.

Prompts are text alone. The tensors are written under the names of published folders, old and new.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch
from transformers import AutoConfig, AutoModelForImageTextToText, PreTrainedModel

from engine.model.hf_source import HfSource
from engine.model.loader import open_checkpoint
from engine.model.wrapped_text import ONLY_TEXT, text_values
from tests.helpers.decoding import CachedSequence, all_logits, build_native, make_storage

pytestmark = pytest.mark.oracle

NUM_TOKENS = 40
BLOCKS = (9, 4, 5, 17, 0)
TEXT: Mapping[str, Any] = {
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
PICTURES: Mapping[str, Any] = {
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 28,
    "patch_size": 14,
}
QWEN_PICTURES = {"depth": 1, "embed_dim": 16, "hidden_size": 48, "num_heads": 2, "mlp_ratio": 1}
MROPE = {"rope_type": "default", "rope_theta": 5e4, "mrope_section": [2, 3, 3]}
CASES: Mapping[str, Mapping[str, Any]] = {
    "gemma3": {
        "text_config": {**TEXT, "head_dim": 16, "sliding_window": 11, "query_pre_attn_scalar": 24},
        "vision_config": PICTURES,
        "mm_tokens_per_image": 1,
        "image_token_index": 96,
    },
    "mistral3": {
        "text_config": {**TEXT, "model_type": "mistral", "head_dim": 16, "sliding_window": None},
        "vision_config": {**PICTURES, "model_type": "pixtral", "head_dim": 8},
        "tie_word_embeddings": False,
        "image_token_index": 96,
    },
    "llava": {
        "text_config": {**TEXT, "model_type": "llama"},
        "vision_config": {**PICTURES, "model_type": "clip_vision_model"},
        "image_token_index": 96,
    },
    "qwen2_vl": {
        "text_config": {**TEXT, "head_dim": 16, "rope_parameters": MROPE, "num_attention_heads": 3,
                        "num_key_value_heads": 1},
        "vision_config": QWEN_PICTURES,
        "image_token_id": 96,
        "video_token_id": 95,
    },
    "qwen2_5_vl": {
        "text_config": {**TEXT, "num_attention_heads": 3, "num_key_value_heads": 1,
                        "rope_parameters": MROPE, "tie_word_embeddings": True},
        "vision_config": {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2,
                          "out_hidden_size": 48},
        "tie_word_embeddings": True,
        "image_token_id": 96,
        "video_token_id": 95,
    },
    "qwen3_vl": {
        "text_config": {**TEXT, "head_dim": 16, "rope_parameters": MROPE},
        "vision_config": {"depth": 1, "hidden_size": 16, "intermediate_size": 16, "num_heads": 2,
                          "out_hidden_size": 48, "deepstack_visual_indexes": [0]},
        "image_token_id": 96,
        "video_token_id": 95,
    },
}  # fmt: skip


def _random_model(model_type: str) -> PreTrainedModel:
    settings = AutoConfig.for_model(model_type, **CASES[model_type])
    model = AutoModelForImageTextToText.from_config(settings, attn_implementation="eager")
    draw = torch.Generator().manual_seed(3)
    for name, values in model.float().eval().named_parameters():
        noise = torch.randn(values.shape, generator=draw)
        values.data = (
            noise * 0.3 + (1.0 if "norm" in name else 0.0) if values.dim() == 1 else noise * 0.15
        )
    return model


def _rename(folder: Path, style: str) -> set[str]:
    """Write the tensors again, with the text model's names of ``style``."""
    path = folder / "model.safetensors"
    renamed: dict[str, torch.Tensor] = {}
    for name, values in safetensors.torch.load_file(path).items():
        plain = name.replace("model.language_model.", "model.")
        plain = plain.replace("language_model.model.", "model.")
        plain = plain.replace("language_model.lm_head", "lm_head")
        if not plain.startswith(("model.layers", "model.norm", "model.embed", "lm_head")):
            renamed[name] = values
        elif style == "new":
            renamed[plain.replace("model.", "model.language_model.", 1)] = values
        else:
            renamed[("language_model." if style == "old" else "") + plain] = values
    safetensors.torch.save_file(renamed, path)
    return set(renamed)


@pytest.mark.parametrize("style", ["old", "new", "plain"])
@pytest.mark.parametrize("model_type", CASES)
def test_the_text_part_gives_the_logits_of_the_whole(
    model_type: str, style: str, tmp_path: Path
) -> None:
    model = _random_model(model_type)
    model.save_pretrained(tmp_path)
    stored = _rename(tmp_path, style)
    assert any("vision" in name or "visual" in name for name in stored)
    ids = torch.randint(3, 95, (NUM_TOKENS,), generator=torch.Generator().manual_seed(1))
    with torch.inference_mode():
        expected = model(input_ids=ids.unsqueeze(0), use_cache=False).logits[0]
    with closing(open_checkpoint(tmp_path)) as source:
        assert isinstance(source, HfSource)
        assert source.config.notes == (ONLY_TEXT,)
        decoder = build_native(source)
    storage = make_storage(decoder.config, num_blocks=20, block_size=8)
    logits = all_logits(decoder, storage, CachedSequence(BLOCKS), ids.tolist(), (30, 1, 9))
    assert float(expected.std()) > 0.05
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("text_type", ["gemma3_text", "llama", "mistral", "qwen2"])
def test_what_is_left_out_means_what_transformers_takes_it_for(text_type: str) -> None:
    theirs = AutoConfig.for_model(text_type)
    values = text_values({"model_type": "llava", "text_config": {"model_type": text_type}})
    values.pop("model_type")
    assert {key: getattr(theirs, key) for key in values} == values
