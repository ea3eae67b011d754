"""Folders with tokenizer.model alone, and what stands around it."""

import json
from pathlib import Path
from typing import Any

import pytest

from engine.errors import ModelCorruptError
from engine.text.detokenizer import Detokenizer
from engine.text.hf_folder import tokenizer_from_folder
from engine.text.sentencepiece_folder import tokenizer_from_sentencepiece
from tests.helpers.sentencepiece_models import PIECES, model, number

PLAIN = number(4, 0)  # keep white space as it is


def folder(path: Path, algorithm: int = 2, **files: Any) -> Path:
    (path / "tokenizer.model").write_bytes(model(PIECES, number(3, algorithm), PLAIN))
    for name, content in files.items():
        (path / f"{name}.json").write_text(json.dumps(content), "utf-8")
    return path


@pytest.mark.parametrize("algorithm", [1, 2])
def test_ids_and_text(tmp_path: Path, algorithm: int) -> None:
    tokenizer = tokenizer_from_folder(folder(tmp_path, algorithm))
    pieces = [tokenizer.token_text(i) for i in tokenizer.encode("ab é", parse_special=False)]
    assert pieces == ["▁ab", "▁", "<0xC3>", "<0xA9>"]
    typed = tokenizer.encode("<s> <0x41>", parse_special=False)
    assert b"".join(map(tokenizer.token_bytes, typed)) == b" <s> <0x41>"
    assert not {1, 3 + 0x41} & set(typed[3:]) - {3 + byte for byte in b"<s> 0x41>"}
    detokenizer = Detokenizer(tokenizer)
    text = "".join(map(detokenizer.push, tokenizer.encode_prompt("ab 😀"))) + detokenizer.flush()
    assert text == "ab 😀"
    assert tokenizer.encode_prompt("a")[0] == tokenizer.bos_id == 1
    assert tokenizer.eos_ids == {2}


def test_spans_inside_a_character(tmp_path: Path) -> None:
    tokenizer = tokenizer_from_folder(folder(tmp_path, 1))
    spans = tokenizer.spans("ab é</s>a", parse_special=True)
    assert [(s.start, s.end) for s in spans] == [
        (0, 2), (2, 3), (3, 4), (4, 5), (5, 9), (9, 10),
    ]  # fmt: skip


def test_tokens_that_were_added_later(tmp_path: Path) -> None:
    size = len(PIECES)
    config = {
        "added_tokens_decoder": {
            "0": {"content": "<unk>", "special": True},
            str(size + 1): {"content": "<|im_end|>", "special": True},
            str(size + 2): {"content": "<tool>", "special": False},
        },
        "eos_token": {"content": "<|im_end|>"},
        "add_bos_token": False,
    }
    path = folder(
        tmp_path,
        tokenizer_config=config,
        added_tokens={"[PAD]": size},
        generation_config={"eos_token_id": [2, size + 1]},
    )
    tokenizer = tokenizer_from_folder(path)
    assert tokenizer.vocab_size == size + 3
    assert tokenizer.encode("<|im_end|>", parse_special=True) == [size + 1]
    assert tokenizer.encode("<tool>", parse_special=False)[-1] == size + 2
    assert size + 1 not in tokenizer.encode("<|im_end|>", parse_special=False)
    assert tokenizer.is_special(size)
    assert tokenizer.eos_ids == {2, size + 1}
    assert not tokenizer.add_bos


@pytest.mark.parametrize(("legacy", "after"), [(True, "▁a"), (False, "a")])
def test_the_space_after_control_tokens(tmp_path: Path, legacy: bool, after: str) -> None:
    tokenizer = tokenizer_from_folder(folder(tmp_path, tokenizer_config={"legacy": legacy}))
    ids = tokenizer.encode("a</s>a", parse_special=True)
    assert [tokenizer.token_text(i) for i in ids] == ["▁a", "</s>", after]


@pytest.mark.parametrize("number", [10_000, -1])
def test_absurd_ids_are_refused(tmp_path: Path, number: int) -> None:
    with pytest.raises(ModelCorruptError, match="added token"):
        tokenizer_from_folder(folder(tmp_path, added_tokens={"x": number}))


def test_no_such_file(tmp_path: Path) -> None:
    assert tokenizer_from_sentencepiece(tmp_path) is None
