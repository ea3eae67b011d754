"""Tokenizer and chat template of a model folder.

Reads ``tokenizer.json`` (vocabulary and merging model; without one, ``tokenizer.model``), ``tokenizer_config.json`` (roles,
template), ``generation_config.json`` (what ends an answer) and ``chat_template.jinja``. Knows
these files and nothing of weights.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as RustTokenizer

from engine.errors import ModelMissingError
from engine.text.folder_files import (
    MAX_CONFIG_BYTES,
    MAX_FILE_BYTES,
    answer_ends,
    parse_object,
    read_config,
    read_text,
    token_name,
)
from engine.text.hf_spec import (
    begins_with_space,
    parts_of,
    spelling_of,
    unknown_piece,
    without_control_tokens,
)
from engine.text.merging import guarded
from engine.text.sentencepiece_folder import tokenizer_from_sentencepiece
from engine.text.template import ChatTemplate, template_for
from engine.text.tokenizer import Tokenizer
from engine.text.vocabulary import (
    END_OF_TURN,
    MAX_VOCAB_SIZE,
    Kind,
    Spelling,
    Vocabulary,
    corrupt_tokenizer,
)


def tokenizer_from_folder(folder: str | Path) -> Tokenizer:
    """Build the tokenizer of a model folder.

    Raises ModelMissingError without a tokenizer file, ModelCorruptError for one that breaks its
    format's rules, and ModelUnsupportedError for one that spells tokens in a way we do not know.
    """
    folder = Path(folder)
    path = str(folder)
    text = read_text(folder / "tokenizer.json", MAX_FILE_BYTES)
    if text is None:
        tokenizer = tokenizer_from_sentencepiece(folder)
        if tokenizer is None:
            raise ModelMissingError(
                f"There is no tokenizer.json in {folder.name}; download the model again.",
                path=path,
            )
        return tokenizer
    spec = parse_object(text, path)
    spelling = spelling_of(spec, path)
    backend = guarded(lambda: RustTokenizer.from_str(text), path)
    vocabulary = _vocabulary(folder, spec, backend, spelling)
    safe = without_control_tokens(spec)
    if safe != spec:
        backend = guarded(lambda: RustTokenizer.from_str(json.dumps(safe)), path)
    backend.encode_special_tokens = True
    following = _without_first_prefix(safe, path)
    strips = {
        token["content"]: (bool(token.get("lstrip")), bool(token.get("rstrip")))
        for token in _added_tokens(spec, path)
        if token.get("special") and (token.get("lstrip") or token.get("rstrip"))
    }
    return Tokenizer(vocabulary, backend, following, strips)


def template_from_folder(folder: str | Path, tokenizer: Tokenizer) -> ChatTemplate:
    """The chat template of a model folder, or the plain one. Raises TemplateError."""
    folder = Path(folder)
    source = read_text(folder / "chat_template.jinja", MAX_CONFIG_BYTES)
    if source is None:
        stored = read_config(folder, "tokenizer_config.json").get("chat_template")
        if isinstance(stored, list):  # several named templates
            named = {item.get("name"): item.get("template") for item in stored if _is_map(item)}
            stored = named.get("default")
        source = stored if isinstance(stored, str) else None
    return template_for(tokenizer, source)


def _vocabulary(
    folder: Path, spec: Mapping[str, Any], backend: RustTokenizer, spelling: Spelling
) -> Vocabulary:
    path = str(folder)
    ids = backend.get_vocab(with_added_tokens=True)
    size = max(ids.values(), default=-1) + 1
    if not 0 < size <= MAX_VOCAB_SIZE:
        raise corrupt_tokenizer(f"it has {size} tokens", path)
    pieces = [""] * size
    kinds = bytearray([Kind.UNUSED]) * size
    for piece, token_id in ids.items():
        pieces[token_id] = piece
        kinds[token_id] = Kind.NORMAL
    for token in _added_tokens(spec, path):
        added_id = ids.get(token["content"])
        if added_id is not None:
            kinds[added_id] = Kind.CONTROL if token.get("special") else Kind.USER_DEFINED
    unknown = ids.get(unknown_piece(spec))
    if unknown is not None and kinds[unknown] == Kind.NORMAL:
        kinds[unknown] = Kind.UNKNOWN
    config = read_config(folder, "tokenizer_config.json")
    first = guarded(lambda: backend.encode("").ids, path)
    bos_id = ids.get(token_name(config.get("bos_token")))
    adds_bos = len(first) == 1 and guarded(lambda: backend.encode("a").ids[:1], path) == first
    if adds_bos:  # what the tokenizer puts there itself, whatever its name is
        bos_id = first[0]
    eos_id = ids.get(token_name(config.get("eos_token")))
    return Vocabulary(
        pieces=tuple(pieces),
        kinds=bytes(kinds),
        spelling=spelling,
        bos_id=bos_id,
        eos_id=eos_id,
        eos_ids=frozenset(
            {
                *answer_ends(folder, size),
                *([] if eos_id is None else [eos_id]),
                *(
                    i
                    for name in END_OF_TURN
                    if (i := ids.get(name)) is not None and kinds[i] == Kind.CONTROL
                ),
            }
        ),
        add_bos=adds_bos,
        add_space_prefix=begins_with_space(spec, spelling),
    )


def _added_tokens(spec: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    tokens = spec.get("added_tokens") or []
    if not isinstance(tokens, list) or not all(
        _is_map(token) and isinstance(token.get("content"), str) for token in tokens
    ):
        raise corrupt_tokenizer("its added tokens are not a list of tokens", path)
    return tokens


def _without_first_prefix(spec: dict[str, Any], path: str) -> RustTokenizer | None:
    """The model for text after a control token, where only a text's very beginning is prefixed."""
    firsts = [
        part
        for part in parts_of(spec.get("pre_tokenizer"))
        if part.get("type") == "Metaspace" and part.get("prepend_scheme") == "first"
    ]
    if not firsts:
        return None
    for part in firsts:
        part["prepend_scheme"] = "never"
    backend = guarded(lambda: RustTokenizer.from_str(json.dumps(spec)), path)
    backend.encode_special_tokens = True
    return backend


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)
