"""What an option opens, and what it refuses."""

from types import SimpleNamespace

import pytest

from engine.api import ModelOptions
from engine.config import KVFormat, KVGeometry
from engine.errors import InvalidRequestError
from engine.speculative.opening import NGRAM, open_draft
from tests.helpers.tiny_tokenizers import byte_level_tokenizer, sentencepiece_tokenizer


def model(tokenizer):
    geometry = KVGeometry(1, 1, 32, block_size=4, num_blocks=8, format=KVFormat.FLOAT32)
    config = SimpleNamespace(kv=geometry, max_batch_tokens=16, context_length=32)
    return SimpleNamespace(
        tokenizer=tokenizer,
        config=config,
        decoder=SimpleNamespace(weights_bytes=1_000),
        info=SimpleNamespace(name="small one"),
    )


def opened(draft, tokenizer=None, **options):
    loaded = []

    def load(wanted):
        loaded.append(wanted)
        return model(tokenizer)

    chosen = ModelOptions("target.gguf", context_length=64, draft=draft, **options)
    target = model(byte_level_tokenizer())
    found = open_draft(chosen, target, load, lambda _: None, lambda: False)
    return found, loaded


def test_nothing_is_opened_unasked_or_without_a_cache():
    assert opened(None) == (None, [])
    assert opened("") == (None, [])
    assert opened(NGRAM, kv_cache=False) == (None, [])


def test_ngrams_take_no_memory():
    found, loaded = opened(NGRAM)
    assert (found.name, found.num_bytes, loaded) == (NGRAM, 0, [])


def test_a_model_is_loaded_for_itself_and_counted():
    found, loaded = opened("small.gguf", byte_level_tokenizer())
    assert found.name == "small one"
    assert found.num_bytes > 1_000
    (wanted,) = loaded
    assert (wanted.path, wanted.draft, wanted.context_length) == ("small.gguf", None, None)


def test_another_vocabulary_is_refused():
    with pytest.raises(InvalidRequestError, match="vocabulary"):
        opened("small.gguf", sentencepiece_tokenizer())
