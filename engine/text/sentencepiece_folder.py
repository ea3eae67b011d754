"""The tokenizer of a model folder that has ``tokenizer.model`` and no ``tokenizer.json``.

Joins the SentencePiece file with what stands around it: ``tokenizer_config.json`` and
``added_tokens.json`` name more tokens and the roles of some. Knows no merging.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from engine.text.folder_files import (
    MAX_FILE_BYTES,
    answer_ends,
    read_bytes,
    read_config,
    token_name,
)
from engine.text.sentencepiece_file import read_sentencepiece
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf
from engine.text.vocabulary import MAX_VOCAB_SIZE, Kind, corrupt_tokenizer

FILE_NAME: Final = "tokenizer.model"
_MAX_GAP: Final = 1_024  # ids that no file names, between two that are named


def tokenizer_from_sentencepiece(folder: Path) -> Tokenizer | None:
    """Build the tokenizer; None when the folder has no such file.

    Raises ModelCorruptError, ModelMissingError or ModelUnsupportedError.
    """
    path = str(folder)
    data = read_bytes(folder / FILE_NAME, MAX_FILE_BYTES)
    if data is None:
        return None
    metadata = read_sentencepiece(data, path)
    config = read_config(folder, "tokenizer_config.json")
    _add_tokens(metadata, list(_added_tokens(folder, config)), path)
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    for role in ("bos", "eos"):
        name = token_name(config.get(f"{role}_token"))
        if name in tokens:
            metadata[f"tokenizer.ggml.{role}_token_id"] = tokens.index(name)
    ends = answer_ends(folder, len(tokens))
    metadata |= {
        f"tokenizer.ggml.{role}_token_id": token_id
        for role, token_id in zip(("eot", "eom"), ends[-2:], strict=False)
    }
    metadata["tokenizer.ggml.add_bos_token"] = config.get("add_bos_token") is not False
    if isinstance(config.get("add_prefix_space"), bool):
        metadata["tokenizer.ggml.add_space_prefix"] = config["add_prefix_space"]
    return tokenizer_from_gguf(metadata, path, prefix_once=config.get("legacy") is False)


def _added_tokens(folder: Path, config: dict[str, Any]) -> Iterator[tuple[int, str, Kind]]:
    """Id, text and kind of the tokens that came after the file was made."""
    for content, token_id in read_config(folder, "added_tokens.json").items():
        if type(token_id) is int:
            yield token_id, content, Kind.CONTROL
    named = config.get("added_tokens_decoder")
    for number, token in named.items() if isinstance(named, dict) else ():
        content = token_name(token)
        if content and number.isdecimal() and len(number) < 9 and isinstance(token, dict):
            kind = Kind.CONTROL if token.get("special") else Kind.USER_DEFINED
            yield int(number), content, kind


def _add_tokens(metadata: dict[str, Any], added: list[tuple[int, str, Kind]], path: str) -> None:
    """Write them into the lists, over what is there, except for the kind of the unknown token."""
    lists = [metadata[f"tokenizer.ggml.{name}"] for name in ("tokens", "scores", "token_type")]
    tokens, scores, kinds = lists
    for token_id, content, kind in sorted(added):
        if not 0 <= token_id < min(MAX_VOCAB_SIZE, len(tokens) + _MAX_GAP):
            raise corrupt_tokenizer(f"its added token has the id {token_id}", path)
        while len(tokens) <= token_id:
            tokens.append("")
            scores.append(0.0)
            kinds.append(int(Kind.UNUSED))
        tokens[token_id] = content
        if kinds[token_id] not in {Kind.UNKNOWN, Kind.BYTE}:
            kinds[token_id] = int(kind)
