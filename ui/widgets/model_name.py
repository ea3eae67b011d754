"""A model's name as people say it, made from its file or folder.

What files say of themselves ("general.name") is often a leftover of training; the name the
publisher gave the file is what people looked for. Pure functions of the path.
"""

import re
from pathlib import PurePath

_PART = re.compile(r"-\d{5}-of-\d{5}$")
_FORMAT = re.compile(
    r"[-._ ](?:(?:ud|i1)[-._])?"
    r"(?:i?q\d(?:[-._](?:\d|k|[xsml]{1,3}|nl))*|bf16|fp?16|fp?32|mxfp4(?:[-._]moe)?|gguf)$",
    re.IGNORECASE,
)
_SIZE = re.compile(r"^(?:\d+x)?\d+(?:\.\d+)?[bmk]$", re.IGNORECASE)
_COMMIT = re.compile(r"^[0-9a-f]{40}$")
_DIGEST = re.compile(r"^sha256-[0-9a-f]{64}$")  # a store that names files by their content
_GENERIC = frozenset({"model", "ggml model", "pytorch model", "consolidated"})


def model_title(path: str, known_as: str = "") -> str:
    """Name the model at ``path``: "SmolLM2-135M-Instruct.Q4_1.gguf" is "SmolLM2 135M Instruct".

    ``known_as`` (what the file says) is taken where the file's name says nothing.
    """
    stem = _PART.sub("", _stem(path))
    while (shorter := _FORMAT.sub("", stem)) != stem:
        stem = shorter
    words = [word for word in re.split(r"[-_\s]+", stem) if word]
    title = " ".join(words)
    if not title or title.lower() in _GENERIC or _DIGEST.match(stem):
        return known_as or title or path
    if title == title.lower():
        title = " ".join(_capital(word) for word in words)
    return title


def is_named_by_content(path: str) -> bool:
    """Whether the file's name is its hash, as in another program's store."""
    return _DIGEST.match(_stem(path)) is not None


def _stem(path: str) -> str:
    pure = PurePath(path)
    name = pure.name
    if name.lower().endswith(".gguf"):
        return name[: -len(".gguf")]
    # a hub's cache: models--publisher--name/snapshots/commit
    if _COMMIT.match(name) and len(pure.parts) > 2:
        name = pure.parts[-3]
    return name.rpartition("--")[2]


def _capital(word: str) -> str:
    return word.upper() if _SIZE.match(word) else word[:1].upper() + word[1:]
