"""Find models below folders: GGUF files, split ones as one, and folders with safetensors files.

Looks at names and sizes only; ``engine.inspection`` reads the headers. A link is followed once,
and no folder is entered twice, so that loops end. What cannot be read is passed over.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from app.catalog.names import split_of

_MAX_DEPTH = 12
_CONFIG = "config.json"
_TENSORS = ".safetensors"
_GGUF = ".gguf"
# folders that hold no models of their own, and would take long
_SKIPPED = frozenset({"node_modules", "__pycache__", ".git", ".venv", "$RECYCLE.BIN"})
# files beside a model that are no chat model themselves
_PROJECTORS = ("mmproj",)


@dataclass(frozen=True, slots=True)
class FoundModel:
    """One model. ``path``: what the engine opens; ``files``: all of its files, first one first.

    For a folder, ``path`` is the folder itself. ``is_linked``: a file is a link, as in the cache
    of a program that keeps the contents elsewhere.
    """

    path: str
    title: str
    files: tuple[str, ...]
    num_bytes: int
    is_folder: bool = False
    is_linked: bool = False


def find_models(folders: Iterable[Path]) -> Iterator[FoundModel | None]:
    """Yield each model below ``folders`` once, and None for each folder that was looked into.

    The Nones let a caller stop, or take a breath, between two folders of a large disk.
    """
    seen: set[tuple[int, int]] = set()
    held: set[tuple[int, int]] = set()
    waiting = [(folder, 0) for folder in folders][::-1]
    while waiting:
        place, depth = waiting.pop()
        if not _is_new(place, seen):
            continue
        inside, files = _listing(place)
        yield from (m for m in _models_of(place, files) if _is_new(Path(m.files[0]), held))
        yield None
        if depth < _MAX_DEPTH:
            waiting += [(path, depth + 1) for path in reversed(inside)]


def look_at(path: Path) -> FoundModel | None:
    """The model that is exactly ``path``, a file or a folder; None if there is none."""
    if path.is_dir():
        _, files = _listing(path)
        return next((model for model in _models_of(path, files) if model.is_folder), None)
    _, files = _listing(path.parent)
    return next((m for m in _models_of(path.parent, files) if str(path) in m.files), None)


def _is_new(path: Path, seen: set[tuple[int, int]]) -> bool:
    try:
        found = path.stat()
    except OSError:
        return False
    identity = (found.st_dev, found.st_ino)
    if identity in seen:
        return False
    seen.add(identity)
    return True


def _listing(folder: Path) -> tuple[list[Path], dict[str, int]]:
    """Folders to enter, and the sizes of the files that matter, by name; both sorted."""
    inside: list[Path] = []
    files: dict[str, int] = {}
    for entry in _entries(folder):
        try:
            if entry.is_dir():
                inside.append(Path(entry.path))
            elif entry.name == _CONFIG or entry.name.lower().endswith((_GGUF, _TENSORS)):
                files[entry.name] = entry.stat().st_size
        except OSError:
            continue  # a link that leads nowhere, or a file that went away
    return sorted(p for p in inside if p.name not in _SKIPPED), dict(sorted(files.items()))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _models_of(folder: Path, files: dict[str, int]) -> Iterator[FoundModel]:
    tensors = [name for name in files if name.lower().endswith(_TENSORS)]
    if tensors and _CONFIG in files:
        paths = tuple(str(folder / name) for name in tensors)
        total = sum(files[name] for name in tensors)
        is_linked = _is_linked((*paths, str(folder)))
        title = _folder_title(folder)
        yield FoundModel(str(folder), title, paths, total, is_folder=True, is_linked=is_linked)
    groups: dict[tuple[str, int], list[str]] = {}
    for name in files:
        if name.lower().endswith(_GGUF) and not name.lower().startswith(_PROJECTORS):
            part = split_of(name)
            key = (name, 0) if part is None else (part[0], part[2])
            groups.setdefault(key, []).append(name)
    for (stem, count), names in groups.items():
        title = stem if count else Path(stem).stem
        paths = tuple(str(folder / name) for name in names)
        total = sum(files[name] for name in names)
        yield FoundModel(paths[0], title, paths, total, is_linked=_is_linked(paths))


def _is_linked(paths: Iterable[str]) -> bool:
    return any(Path(path).is_symlink() for path in paths)


def _folder_title(folder: Path) -> str:
    """The folder's name; of a hub cache's snapshot, the repository's."""
    if folder.parent.name == "snapshots" and (repo := folder.parents[1].name).startswith(
        "models--"
    ):
        return repo.removeprefix("models--").replace("--", "/")
    return folder.name or str(folder)
