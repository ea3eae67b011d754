"""Find models below folders: GGUF files, split ones as one, and folders with safetensors files.

Looks at names and sizes only; ``engine.inspection`` reads the headers. A link is followed once,
and no folder is entered twice, so that loops end. What cannot be read is passed over, save for
the folders that were asked for: those are told.
"""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from app.catalog.names import split_of
from app.catalog.ollama import is_store, stored_models

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
    of a program that keeps the contents elsewhere. ``modified_s``: when the latest of the files
    was changed, seconds since 1970.
    """

    path: str
    title: str
    files: tuple[str, ...]
    num_bytes: int
    is_folder: bool = False
    is_linked: bool = False
    modified_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A folder that was asked for and cannot be read: a drive that is not there, a missing right.

    ``is_missing``: it is not there; otherwise ``reason`` has the system's words.
    """

    path: str
    reason: str
    is_missing: bool


Found = FoundModel | Unreachable | None


@dataclass(frozen=True, slots=True)
class _File:
    """What a listing tells of a file."""

    num_bytes: int
    modified_s: float


_Files = dict[str, _File]


def find_models(folders: Iterable[Path], alone: Iterable[Path] = ()) -> Iterator[Found]:
    """Yield each model in and below ``folders`` and in ``alone`` (not below) once.

    Also yields each of ``folders`` that cannot be read, and None for each folder that was looked
    into, which lets a caller stop, or take a breath, between two folders of a large disk.
    """
    seen: set[tuple[int, int]] = set()
    held: set[tuple[int, int]] = set()
    roots = list(folders)
    yield from (trouble for root in roots if (trouble := _trouble_with(root)) is not None)
    # the whole trees first: a folder that is looked at alone must not keep one out
    waiting = [(folder, _MAX_DEPTH) for folder in alone][::-1]
    waiting += [(folder, 0) for folder in roots][::-1]
    while waiting:
        place, depth = waiting.pop()
        if not _is_new(place, seen):
            continue
        inside, files = _listing(place)
        models = _models_of(place, files)
        if is_store(place):
            models, inside = _stored(place), []
        yield from (m for m in models if _is_new(Path(m.files[0]), held))
        yield None
        if depth < _MAX_DEPTH:
            waiting += [(path, depth + 1) for path in reversed(inside)]


def look_at(path: Path) -> FoundModel | None:
    """The model that is exactly ``path``, a file or a folder; None if there is none."""
    if _is_folder(path):
        _, files = _listing(path)
        return next((model for model in _models_of(path, files) if model.is_folder), None)
    store = path.parents[1] if len(path.parents) > 1 else path.parent
    if path.parent.name == "blobs" and is_store(store):
        return next((m for m in _stored(store) if m.path == str(path)), None)
    _, files = _listing(path.parent)
    return next((m for m in _models_of(path.parent, files) if str(path) in m.files), None)


def place_of(path: Path) -> Path:
    """The folder in which the neighbours of a model are: of a folder, the folder itself."""
    return path if _is_folder(path) else path.parent


def _trouble_with(folder: Path) -> Unreachable | None:
    try:
        with os.scandir(folder):
            return None
    except (FileNotFoundError, NotADirectoryError) as error:
        return Unreachable(str(folder), error.strerror or "", is_missing=True)
    except OSError as error:
        return Unreachable(str(folder), error.strerror or "", is_missing=False)


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


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


def _listing(folder: Path) -> tuple[list[Path], _Files]:
    """Folders to enter, and the files that matter, by name; both sorted."""
    inside: list[Path] = []
    files: _Files = {}
    for entry in _entries(folder):
        try:
            if entry.is_dir():
                inside.append(Path(entry.path))
            elif entry.name == _CONFIG or entry.name.lower().endswith((_GGUF, _TENSORS)):
                found = entry.stat()
                files[entry.name] = _File(found.st_size, found.st_mtime)
        except OSError:
            continue  # a link that leads nowhere, or a file that went away
    return sorted(p for p in inside if p.name not in _SKIPPED), dict(sorted(files.items()))


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _models_of(folder: Path, files: _Files) -> Iterator[FoundModel]:
    tensors = [name for name in files if name.lower().endswith(_TENSORS)]
    if tensors and _CONFIG in files:
        model = _model(folder, _folder_title(folder), {name: files[name] for name in tensors})
        is_linked = model.is_linked or folder.is_symlink()
        yield replace(model, path=str(folder), is_folder=True, is_linked=is_linked)
    groups: dict[tuple[str, int], _Files] = {}
    for name in files:
        if name.lower().endswith(_GGUF) and not name.lower().startswith(_PROJECTORS):
            part = split_of(name)
            key = (name, 0) if part is None else (part[0], part[2])
            groups.setdefault(key, {})[name] = files[name]
    for (stem, count), group in groups.items():
        yield _model(folder, stem if count else Path(stem).stem, group)


def _model(folder: Path, title: str, files: _Files) -> FoundModel:
    """The model of these files, opened by the first of them."""
    paths = tuple(str(folder / name) for name in files)
    return FoundModel(
        path=paths[0],
        title=title,
        files=paths,
        num_bytes=sum(file.num_bytes for file in files.values()),
        is_linked=_is_linked(paths),
        modified_s=max(file.modified_s for file in files.values()),
    )


def _stored(store: Path) -> Iterator[FoundModel]:
    """The models of an Ollama store. They count as links: the store's manifests tell of them."""
    for stored in stored_models(store):
        path = str(stored.blob)
        try:
            modified_s = stored.blob.stat().st_mtime
        except OSError:
            continue
        size = stored.num_bytes
        yield FoundModel(path, stored.name, (path,), size, is_linked=True, modified_s=modified_s)


def _is_linked(paths: Iterable[str]) -> bool:
    return any(Path(path).is_symlink() for path in paths)


def _folder_title(folder: Path) -> str:
    """The folder's name; of a hub cache's snapshot, the repository's."""
    if folder.parent.name == "snapshots" and (repo := folder.parents[1].name).startswith(
        "models--"
    ):
        return repo.removeprefix("models--").replace("--", "/")
    return folder.name or str(folder)
