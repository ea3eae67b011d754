"""What a ``tokenizer.json`` says about how tokens are spelled.

The Rust package runs the file as it is; this looks at its parts to know which bytes a token stands
for. Knows the names of the format's parts, and reads no files.
"""

import secrets
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from engine.errors import ModelUnsupportedError
from engine.text.vocabulary import Spelling

_MODELS: Final = frozenset({"BPE", "Unigram", "WordPiece", "WordLevel"})
_PLAIN_STEPS: Final = frozenset({"ByteFallback", "Fuse", "Replace", "Strip", "Metaspace"})
_WORDS: Final = frozenset({Spelling.WORDPIECE, Spelling.WORDPIECE_TIDY, Spelling.WORDS})


def spelling_of(spec: Mapping[str, Any], path: str) -> Spelling:
    """How the vocabulary spells. Raises ModelUnsupportedError for a way we do not know."""
    model = spec.get("model")
    kind = model.get("type") if isinstance(model, dict) else None
    if not isinstance(model, dict) or kind not in _MODELS:
        raise _unsupported(f"of kind “{str(kind)[:60]}”", f"tokenizer {str(kind)[:60]}", path)
    steps = [part for part in parts_of(spec.get("decoder")) if part.get("type") != "Sequence"]
    names = {str(step.get("type"))[:60] for step in steps}
    if "ByteLevel" in names or (not names and _has(spec, "ByteLevel")):
        return Spelling.BYTE_LEVEL
    if names == {"WordPiece"}:
        return _wordpiece(steps[0], path)
    if names == {"BPEDecoder"} and steps[0].get("suffix", "</w>") == "</w>":
        return Spelling.WORD_END
    if names <= _PLAIN_STEPS:
        is_marked = bool(names) or _has(spec, "Metaspace") or kind in {"BPE", "Unigram"}
        return Spelling.SENTENCEPIECE if is_marked else Spelling.WORDS
    shown = min(names - _PLAIN_STEPS)
    raise _unsupported(f"decoded by “{shown}”", f"decoder {shown}", path)


def begins_with_space(spec: Mapping[str, Any], spelling: Spelling) -> bool:
    """Whether the bytes of a whole text begin with a space that was not in it."""
    if spelling in _WORDS:
        return True
    return _has(spec, "Prepend") or any(
        part.get("type") == "Metaspace" and _prepends(part)
        for key in ("pre_tokenizer", "decoder")
        for part in parts_of(spec.get(key))
    )


def unknown_piece(spec: Mapping[str, Any]) -> str:
    """The token for text without one; empty when there is none."""
    model = spec.get("model")
    if not isinstance(model, dict):
        return ""
    unknown = model.get("unk_token")
    if isinstance(unknown, str):
        return unknown
    vocab, index = model.get("vocab"), model.get("unk_id")
    if not isinstance(vocab, list) or type(index) is not int or not 0 <= index < len(vocab):
        return ""
    entry = vocab[index]
    return entry[0] if isinstance(entry, list) and entry and isinstance(entry[0], str) else ""


def without_control_tokens(spec: Mapping[str, Any]) -> dict[str, Any]:
    """A ``tokenizer.json`` whose model cannot make a control token of text that reads like one.

    Byte-pair encoding reaches a token by merges alone; the other models look a text's pieces up,
    and would find ``<s>`` there. Such tokens keep their ids under a name that nobody can guess.
    """
    model = spec.get("model")
    if not isinstance(model, dict) or model.get("type") == "BPE":
        return dict(spec)
    added = [token for token in spec.get("added_tokens") or () if isinstance(token, dict)]
    hidden = {str(token.get("content")) for token in added if token.get("special")}
    mark = f"\ufdd0{secrets.token_hex(16)}"
    vocab = model.get("vocab")
    renamed = dict(model)
    if isinstance(vocab, dict):
        renamed["vocab"] = {f"{mark}{k}" if k in hidden else k: v for k, v in vocab.items()}
        if model.get("unk_token") in hidden:
            renamed["unk_token"] = f"{mark}{model['unk_token']}"
    elif isinstance(vocab, list):
        renamed["vocab"] = [_hide(entry, hidden, mark) for entry in vocab]
    kept = [token for token in added if not token.get("special")]
    return {**spec, "model": renamed, "added_tokens": kept}


def _hide(entry: Any, hidden: Collection[str], mark: str) -> Any:
    """An entry (piece, score) of a unigram vocabulary."""
    if isinstance(entry, list) and len(entry) == 2 and entry[0] in hidden:
        return [f"{mark}{entry[0]}", entry[1]]
    return entry


def parts_of(node: Any) -> Iterator[dict[str, Any]]:
    """A pre-tokenizer, normalizer or decoder, and the members of a sequence of them."""
    if not isinstance(node, dict):
        return
    yield node
    for key in ("pretokenizers", "normalizers", "decoders"):
        members = node.get(key)
        if isinstance(members, list):
            yield from (member for member in members if isinstance(member, dict))


def _has(spec: Mapping[str, Any], kind: str) -> bool:
    return any(
        part.get("type") == kind
        for key in ("normalizer", "pre_tokenizer", "decoder")
        for part in parts_of(spec.get(key))
    )


def _prepends(metaspace: Mapping[str, Any]) -> bool:
    """Older files have a flag in place of the scheme."""
    scheme = metaspace.get("prepend_scheme")
    if scheme is None:
        return metaspace.get("add_prefix_space") is not False
    return bool(scheme != "never")


def _wordpiece(decoder: Mapping[str, Any], path: str) -> Spelling:
    prefix = decoder.get("prefix", "##")
    if prefix != "##":
        shown = str(prefix)[:20]
        raise _unsupported(f"one that goes on with words by “{shown}”", f"prefix {shown}", path)
    return Spelling.WORDPIECE if decoder.get("cleanup") is False else Spelling.WORDPIECE_TIDY


def _unsupported(what: str, feature: str, path: str) -> ModelUnsupportedError:
    return ModelUnsupportedError(
        f"This model's tokenizer is {what}, which is not supported yet; choose another model.",
        path=path,
        feature=feature,
    )
