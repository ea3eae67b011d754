"""Tokenizer and chat template of a model folder with ``tokenizer.json``.

Reads ``tokenizer.json`` (vocabulary and merging model), ``tokenizer_config.json`` (roles,
template), ``generation_config.json`` (what ends an answer) and ``chat_template.jinja``. Knows
these files and nothing of weights.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tokenizers import Tokenizer as RustTokenizer

from engine.errors import ModelMissingError, ModelUnsupportedError
from engine.text.merging import guarded
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

_MAX_FILE_BYTES: Final = 256 << 20
_MAX_CONFIG_BYTES: Final = 16 << 20


def tokenizer_from_folder(folder: str | Path) -> Tokenizer:
    """Build the tokenizer of a model folder.

    Raises ModelMissingError without tokenizer.json, ModelCorruptError for one that breaks its
    format's rules, and ModelUnsupportedError for one that is not byte-pair encoding.
    """
    folder = Path(folder)
    path = str(folder)
    text = _read(folder / "tokenizer.json", _MAX_FILE_BYTES, path)
    if text is None:
        raise ModelMissingError(
            f"There is no tokenizer.json in {folder.name}; download the model again.", path=path
        )
    spec = _parse(text, path)
    model = spec.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if kind != "BPE":
        raise ModelUnsupportedError(
            f"This model's tokenizer is of kind “{kind}”, which is not supported yet;"
            " choose another model.",
            path=path,
            feature=f"tokenizer {kind}",
        )
    backend = guarded(lambda: RustTokenizer.from_str(text), path)
    vocabulary = _vocabulary(folder, spec, backend, path)
    backend.encode_special_tokens = True
    following = _without_first_prefix(spec, path)
    strips = {
        token["content"]: (bool(token.get("lstrip")), bool(token.get("rstrip")))
        for token in _added_tokens(spec, path)
        if token.get("special") and (token.get("lstrip") or token.get("rstrip"))
    }
    return Tokenizer(vocabulary, backend, following, strips)


def template_from_folder(folder: str | Path, tokenizer: Tokenizer) -> ChatTemplate:
    """The chat template of a model folder, or the plain one. Raises TemplateError."""
    folder = Path(folder)
    source = _read(folder / "chat_template.jinja", _MAX_CONFIG_BYTES, str(folder))
    if source is None:
        stored = _config(folder, "tokenizer_config.json").get("chat_template")
        if isinstance(stored, list):  # several named templates
            named = {item.get("name"): item.get("template") for item in stored if _is_map(item)}
            stored = named.get("default")
        source = stored if isinstance(stored, str) else None
    return template_for(tokenizer, source)


def _vocabulary(
    folder: Path, spec: Mapping[str, Any], backend: RustTokenizer, path: str
) -> Vocabulary:
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
    config = _config(folder, "tokenizer_config.json")
    bos_id = ids.get(_token_name(config.get("bos_token")))
    eos_id = ids.get(_token_name(config.get("eos_token")))
    return Vocabulary(
        pieces=tuple(pieces),
        kinds=bytes(kinds),
        spelling=_spelling(spec),
        bos_id=bos_id,
        eos_id=eos_id,
        eos_ids=frozenset(
            {
                *_answer_ends(folder, size),
                *([] if eos_id is None else [eos_id]),
                *(
                    i
                    for name in END_OF_TURN
                    if (i := ids.get(name)) is not None and kinds[i] == Kind.CONTROL
                ),
            }
        ),
        add_bos=bos_id is not None and guarded(lambda: backend.encode("").ids, path) == [bos_id],
        add_space_prefix=_has(spec, "Prepend") or _has(spec, "Metaspace", always=True),
    )


def _added_tokens(spec: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    tokens = spec.get("added_tokens") or []
    if not isinstance(tokens, list) or not all(
        _is_map(token) and isinstance(token.get("content"), str) for token in tokens
    ):
        raise corrupt_tokenizer("its added tokens are not a list of tokens", path)
    return tokens


def _answer_ends(folder: Path, vocab_size: int) -> list[int]:
    value = _config(folder, "generation_config.json").get("eos_token_id")
    values = value if isinstance(value, list) else [value]
    return [i for i in values if type(i) is int and 0 <= i < vocab_size]


def _spelling(spec: Mapping[str, Any]) -> Spelling:
    return Spelling.BYTE_LEVEL if _has(spec, "ByteLevel") else Spelling.SENTENCEPIECE


def _parts(node: Any) -> Iterable[dict[str, Any]]:
    """A pre-tokenizer, normalizer or decoder, and the members of a sequence of them."""
    if not _is_map(node):
        return
    yield node
    for key in ("pretokenizers", "normalizers", "decoders"):
        members = node.get(key)
        if isinstance(members, list):
            yield from (member for member in members if _is_map(member))


def _has(spec: Mapping[str, Any], kind: str, *, always: bool = False) -> bool:
    """Whether a step of ``kind`` is there; ``always``: and puts a space before a text."""
    return any(
        part.get("type") == kind and (not always or part.get("prepend_scheme") != "never")
        for key in ("normalizer", "pre_tokenizer", "decoder")
        for part in _parts(spec.get(key))
    )


def _without_first_prefix(spec: dict[str, Any], path: str) -> RustTokenizer | None:
    """The model for text after a control token, where only a text's very beginning is prefixed."""
    firsts = [
        part
        for part in _parts(spec.get("pre_tokenizer"))
        if part.get("type") == "Metaspace" and part.get("prepend_scheme") == "first"
    ]
    if not firsts:
        return None
    for part in firsts:
        part["prepend_scheme"] = "never"
    backend = guarded(lambda: RustTokenizer.from_str(json.dumps(spec)), path)
    backend.encode_special_tokens = True
    return backend


def _token_name(value: Any) -> str:
    if _is_map(value):
        value = value.get("content")
    return value if isinstance(value, str) else ""


def _is_map(value: Any) -> bool:
    return isinstance(value, dict)


def _config(folder: Path, name: str) -> dict[str, Any]:
    """A small JSON file; empty when absent."""
    text = _read(folder / name, _MAX_CONFIG_BYTES, str(folder))
    return {} if text is None else _parse(text, str(folder))


def _parse(text: str, path: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        raise corrupt_tokenizer("it is not JSON", path) from None
    if not isinstance(value, dict):
        raise corrupt_tokenizer("it is not a JSON object", path)
    return value


def _read(file: Path, limit: int, path: str) -> str | None:
    """The file's text; None when there is no such file."""
    try:
        if file.stat().st_size > limit:
            raise corrupt_tokenizer(f"{file.name} is too large", path)
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise corrupt_tokenizer(f"{file.name} is not UTF-8", path) from None
    except OSError as error:
        reason = error.strerror or "unreadable"
        raise ModelMissingError(
            f"{file.name} could not be read ({reason}); check the model folder.", path=path
        ) from None
