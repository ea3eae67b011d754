"""Model folders: tokenizer.json and what stands around it."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineError, ModelCorruptError, ModelMissingError, ModelUnsupportedError
from engine.text.hf_folder import template_from_folder, tokenizer_from_folder
from tests.helpers.tiny_tokenizers import byte_alphabet

ALPHABET = byte_alphabet()


def added(token_id: int, content: str, **flags: bool) -> dict[str, Any]:
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": token_id, "content": content, "special": True, **plain, **flags}


def byte_level_spec() -> dict[str, Any]:
    vocab = {piece: token_id for token_id, piece in enumerate([*ALPHABET, "he", "ll", "hell"])}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "added_tokens": [
            added(259, "<|im_start|>"),
            added(260, "<|im_end|>", rstrip=True),
            added(261, "<think>", special=False),
        ],
        "normalizer": None,
        "pre_tokenizer": {**byte_level, "use_regex": True},
        "decoder": {**byte_level, "use_regex": True},
        "post_processor": None,
        "model": {"type": "BPE", "vocab": vocab, "merges": ["h e", "l l", "he ll"]},
    }


def metaspace_spec(scheme: str) -> dict[str, Any]:
    pieces = ["<unk>", "<s>", "</s>", "▁", "h", "i", "hi", "▁hi"]
    return {
        "version": "1.0",
        "added_tokens": [added(0, "<unk>"), added(1, "<s>"), added(2, "</s>")],
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": "▁",
            "prepend_scheme": scheme,
            "split": False,
        },
        "decoder": None,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": "<s>", "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
            ],
            "pair": [
                {"Sequence": {"id": "A", "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 1}},
            ],
            "special_tokens": {"<s>": {"id": "<s>", "ids": [1], "tokens": ["<s>"]}},
        },
        "model": {
            "type": "BPE",
            "vocab": {piece: token_id for token_id, piece in enumerate(pieces)},
            "merges": ["h i", "▁ hi"],
            "unk_token": "<unk>",
        },
    }


def write(folder: Path, **files: Any) -> Path:
    """``tokenizer_json={...}`` becomes tokenizer.json."""
    for name, content in files.items():
        stem, _, suffix = name.rpartition("_")
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / f"{stem}.{suffix}").write_text(text, encoding="utf-8")
    return folder


def test_byte_level_folder(tmp_path: Path) -> None:
    config = {"bos_token": "<|im_start|>", "eos_token": {"content": "<|im_end|>"}}
    folder = write(
        tmp_path,
        tokenizer_json=byte_level_spec(),
        tokenizer_config_json=config,
        generation_config_json={"eos_token_id": [260, 258, 10_000, "x"]},
    )
    tokenizer = tokenizer_from_folder(folder)
    assert tokenizer.encode("hell<|im_end|>  he", parse_special=True) == [258, 260, 256]
    plain = tokenizer.encode("<|im_end|> <think>", parse_special=False)
    assert not {259, 260} & set(plain)
    assert plain[-1] == 261
    assert b"".join(map(tokenizer.token_bytes, plain)) == b"<|im_end|> <think>"
    assert (tokenizer.bos_id, tokenizer.eos_id) == (259, 260)
    assert tokenizer.eos_ids == {258, 260}
    assert not tokenizer.add_bos
    assert tokenizer.vocab_size == 262


@pytest.mark.parametrize(("scheme", "after"), [("first", [6]), ("always", [7]), ("never", [6])])
def test_the_prefix_space_goes_where_the_file_says(
    tmp_path: Path, scheme: str, after: list[int]
) -> None:
    folder = write(
        tmp_path,
        tokenizer_json=metaspace_spec(scheme),
        tokenizer_config_json={"bos_token": "<s>", "eos_token": "</s>"},
    )
    tokenizer = tokenizer_from_folder(folder)
    first = [6] if scheme == "never" else [7]
    assert tokenizer.encode("hi</s>hi", parse_special=True) == [*first, 2, *after]
    assert tokenizer.encode_prompt("hi") == [1, *first]
    assert tokenizer.add_space_prefix == (scheme != "never")


def test_the_template_file_goes_before_the_config(tmp_path: Path) -> None:
    folder = write(tmp_path, tokenizer_json=byte_level_spec())
    tokenizer = tokenizer_from_folder(folder)
    assert template_from_folder(folder, tokenizer).is_plain
    write(folder, tokenizer_config_json={"chat_template": "config"})
    assert template_from_folder(folder, tokenizer).render([]).text == "config"
    named = [{"name": "tool_use", "template": "tools"}, {"name": "default", "template": "named"}]
    write(folder, tokenizer_config_json={"chat_template": named})
    assert template_from_folder(folder, tokenizer).render([]).text == "named"
    write(folder, chat_template_jinja="file")
    assert template_from_folder(folder, tokenizer).render([]).text == "file"


def test_a_folder_without_a_tokenizer(tmp_path: Path) -> None:
    with pytest.raises(ModelMissingError):
        tokenizer_from_folder(tmp_path)
    with pytest.raises(ModelMissingError):
        tokenizer_from_folder(tmp_path / "nowhere")


def test_other_kinds_are_refused(tmp_path: Path) -> None:
    write(tmp_path, tokenizer_json={**byte_level_spec(), "model": {"type": "Bigram"}})
    with pytest.raises(ModelUnsupportedError):
        tokenizer_from_folder(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "nonsense",
        "[" * 100_000,
        {**byte_level_spec(), "added_tokens": 3},
        {**byte_level_spec(), "added_tokens": [{"content": 3}]},
        {**metaspace_spec("first"), "added_tokens": [], "model": {"type": "BPE", "vocab": {}}},
        {**byte_level_spec(), "model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}},
        {**byte_level_spec(), "model": {"type": "BPE", "vocab": {"a": 1}, "merges": ["a b"]}},
        {**byte_level_spec(), "model": {"type": "BPE", "vocab": {"a": 4_000_000_000}}},
        {
            **byte_level_spec(),
            "pre_tokenizer": {
                "type": "Split",
                "pattern": {"Regex": "(["},
                "behavior": "Isolated",
                "invert": False,
            },
        },
        {**byte_level_spec(), "decoder": {"type": "Nonsense"}},
    ],
)
def test_damaged_files_are_typed_errors(tmp_path: Path, content: Any) -> None:
    write(tmp_path, tokenizer_json=content)
    with pytest.raises(EngineError):
        tokenizer_from_folder(tmp_path)


def test_a_damaged_config_is_a_typed_error(tmp_path: Path) -> None:
    write(tmp_path, tokenizer_json=byte_level_spec(), tokenizer_config_json="{")
    with pytest.raises(ModelCorruptError):
        tokenizer_from_folder(tmp_path)
    (tmp_path / "tokenizer_config.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ModelCorruptError):
        tokenizer_from_folder(tmp_path)
