"""Tokenizer and template of a checkpoint, and whether they belong to its weights."""

import pytest

from engine.errors import ModelCorruptError, ModelUnsupportedError
from engine.model.text_parts import check_vocabulary, read_folder_text_parts, read_text_parts
from tests.helpers.sentencepiece_models import PIECES, model, number
from tests.helpers.tiny_tokenizers import byte_level_metadata, byte_level_tokenizer


def test_both_parts_of_a_gguf_header():
    header = byte_level_metadata()
    header["tokenizer.chat_template"] = "{{ messages[0]['content'] }}"
    tokenizer, template = read_text_parts(header, "here")
    assert tokenizer.vocab_size == 264
    assert not template.is_plain
    assert read_text_parts(byte_level_metadata(), "here")[1].is_plain


def test_an_unknown_pre_tokenizer_is_one_sentence():
    with pytest.raises(ModelUnsupportedError, match="martian") as caught:
        read_text_parts(byte_level_metadata(pre="martian"), "here")
    assert str(caught.value).count(".") == 1


def test_a_folder_of_sentencepiece_alone(tmp_path):
    (tmp_path / "tokenizer.model").write_bytes(model(PIECES, number(3, 2)))
    (tmp_path / "tokenizer_config.json").write_text('{"chat_template": "{{ bos_token }}!"}')
    tokenizer, template = read_folder_text_parts(tmp_path)
    assert tokenizer.vocab_size == len(PIECES)
    assert template.render([]).text == "<s>!"


def test_a_tokenizer_of_another_model_is_one_sentence():
    tokenizer = byte_level_tokenizer()  # its last token is an ordinary one
    check_vocabulary(tokenizer, 264, "here")
    check_vocabulary(tokenizer, 1_000, "here")
    with pytest.raises(ModelCorruptError, match="264 tokens and its embedding 200") as caught:
        check_vocabulary(tokenizer, 200, "here")
    assert "belongs to another model" in str(caught.value)


def test_control_tokens_may_lie_past_the_embedding():
    kinds = [1] * 261 + [3] * 3
    check_vocabulary(byte_level_tokenizer(token_type=kinds), 261, "here")
