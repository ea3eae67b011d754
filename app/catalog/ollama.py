"""Models in Ollama's store, where files are named by their content and a manifest names the model.

::

    models/manifests/HOST/NAMESPACE/NAME/TAG    JSON: a list of layers
    models/blobs/sha256-HEX                     the contents; the model's layer is a GGUF file

Reads manifests, looks at names and sizes of blobs, changes nothing.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_MODEL = "application/vnd.ollama.image.model"
_DIGEST = re.compile(r"sha256[:-]([0-9a-f]{64})")
_DEFAULT_HOST, _DEFAULT_NAMESPACE = "registry.ollama.ai", "library"
_DEPTH = 4
_MAX_MANIFEST_BYTES = 1 << 20
_MAX_MANIFESTS = 10_000


@dataclass(frozen=True, slots=True)
class StoredModel:
    """A model of the store: its name as people type it, and the file with its weights."""

    name: str
    blob: Path
    num_bytes: int


def is_store(folder: Path) -> bool:
    """Whether ``folder`` looks like a store."""
    try:
        return (folder / "manifests").is_dir() and (folder / "blobs").is_dir()
    except OSError:
        return False


def stored_models(folder: Path) -> Iterator[StoredModel]:
    """The models of a store whose weights are there, by name. A damaged manifest is passed over."""
    root = folder / "manifests"
    for number, path in enumerate(_manifests(root, _DEPTH)):
        if number >= _MAX_MANIFESTS:
            return
        digest = _weights_of(path)
        blob = folder / "blobs" / f"sha256-{digest}"
        try:
            size = blob.stat().st_size if digest else 0
        except OSError:
            continue
        if size:
            yield StoredModel(_name_of(path.relative_to(root).parts), blob, size)


def _manifests(folder: Path, depth: int) -> Iterator[Path]:
    """The files exactly ``depth`` levels below ``folder``."""
    try:
        inside = sorted(folder.iterdir())
    except OSError:
        return
    for path in inside:
        if path.name.startswith("."):
            continue
        if depth > 1 and path.is_dir():
            yield from _manifests(path, depth - 1)
        elif depth == 1 and path.is_file():
            yield path


def _weights_of(manifest: Path) -> str:
    """The hash of the weights; an empty string where the manifest names none."""
    try:
        with manifest.open("rb") as file:
            document: Any = json.loads(file.read(_MAX_MANIFEST_BYTES))
        layers = [layer for layer in document["layers"] if layer["mediaType"] == _MODEL]
        found = _DIGEST.fullmatch(layers[0]["digest"]) if len(layers) == 1 else None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return ""
    return "" if found is None else found[1]


def _name_of(parts: tuple[str, ...]) -> str:
    """What ``ollama list`` shows: defaults are left out."""
    host, namespace, name, tag = parts
    shown = [name] if namespace == _DEFAULT_NAMESPACE else [namespace, name]
    if host != _DEFAULT_HOST:
        shown = [host, namespace, name]
    return f"{'/'.join(shown)}:{tag}"
