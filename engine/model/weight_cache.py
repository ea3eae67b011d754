"""Weights quantised to 4 bits at load, kept on disk so that the next load need not do it again.

Quantising well takes minutes for a large model. What comes out (the canonical layout, nothing
packed for an instruction set) is written to one safetensors file, named by a hash of the source
files' names, sizes, times and headers. A file takes its name only when it is complete; each
tensor has a checksum, and what is damaged is quantised anew. Runs in the engine thread.
"""

import hashlib
import json
import logging
import math
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import platformdirs
import torch
from typing_extensions import override

from engine.errors import EngineError
from engine.model.config import ModelConfig
from engine.model.safetensors import SafetensorsFile
from engine.model.source import Checkpoint, Shape, WeightSource
from engine.quant.layout import GroupedInt4Weight, Weight
from engine.quant.quantize import to_grouped_int4

_log = logging.getLogger(__name__)
GROUP_SIZE = 32
_VERSION = "int4 32 v1"  # changes whenever the quantiser's results do
_HEADER_BYTES = 1 << 20  # of each source file, hashed
_LIMIT_BYTES = 32 << 30
_KEEP_FREE_BYTES = 4 << 30
_CHECKS = "crc32"
_DTYPES = {"U8": 1, "F32": 4, "I64": 8}

Choose = Callable[[str], GroupedInt4Weight | None]


def cache_folder() -> Path:
    """Where the quantised weights are kept."""
    home = os.environ.get("TOKENTIDE_HOME")
    if home:
        return Path(home).expanduser().absolute() / "cache" / "weights"
    return platformdirs.user_cache_path("tokentide", appauthor=False) / "weights"


def source_key(path: Path, version: str = _VERSION) -> str:
    """A name for the model at ``path`` (a file, or a folder) as it is now.

    ``version``: how its weights were chosen; changes whenever the results do.
    """
    files = [path]
    if path.is_dir():
        files = sorted([*path.glob("*.safetensors"), *path.glob("*config.json")])
    elif "-of-" in path.name:
        files = sorted(path.parent.glob(path.name.partition("-of-")[0][:-5] + "*.gguf"))
    digest = hashlib.sha256(version.encode())
    for file in files:
        state = file.stat()
        digest.update(f"\0{file.name}\0{state.st_size}\0{state.st_mtime_ns}\0".encode())
        with file.open("rb") as stream:
            digest.update(stream.read(_HEADER_BYTES))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class _Entry:
    dtype: str
    shape: Shape
    offset: int  # from the start of the data

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * _DTYPES[self.dtype]


class _Layout:
    """Where each tensor lies in the file; follows from the matrices' shapes alone."""

    def __init__(self, shapes: Mapping[str, Shape]) -> None:
        self.numbers = {name: number for number, name in enumerate(shapes)}
        self.entries: dict[str, _Entry] = {}
        self.nbytes = 0
        self._add(_CHECKS, "I64", (len(shapes),))
        for name, (rows, columns) in shapes.items():
            groups = columns // GROUP_SIZE
            self._add(f"{name}.scales", "F32", (rows, groups))
            self._add(f"{name}.offsets", "F32", (rows, groups))
            self._add(f"{name}.quants", "U8", (rows, columns // 2))

    def _add(self, name: str, dtype: str, shape: Shape) -> None:
        entry = _Entry(dtype, shape, self.nbytes)
        self.entries[name] = entry
        self.nbytes += -(-entry.nbytes // 8) * 8

    def header(self) -> bytes:
        """The file's beginning, up to the data."""
        table = {
            name: {
                "dtype": e.dtype,
                "shape": list(e.shape),
                "data_offsets": [e.offset, e.offset + e.nbytes],
            }
            for name, e in self.entries.items()
        }
        text = json.dumps(table).encode()
        text += b" " * (-len(text) % 8)
        return len(text).to_bytes(8, "little") + text


def _parts(weight: GroupedInt4Weight) -> tuple[bytes, bytes, bytes]:
    """Scales, offsets, and two quants a byte: the bytes of the file."""
    packed = weight.quants[:, 0::2] | (weight.quants[:, 1::2] << 4)
    scales, offsets = weight.scales.contiguous(), weight.offsets.contiguous()
    return scales.numpy().tobytes(), offsets.numpy().tobytes(), packed.numpy().tobytes()


class _Writer:
    """A file in the making; gives up quietly when the disk does."""

    def __init__(self, folder: Path, key: str, layout: _Layout) -> None:
        """Make room and begin the file; raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)
        _prune(folder, layout.nbytes)
        self._target = folder / f"{key}.safetensors"
        self._layout = layout
        self._checks = torch.zeros(len(layout.numbers), dtype=torch.int64)
        self._missing = set(layout.numbers)
        handle, name = tempfile.mkstemp(suffix=".part", dir=folder)
        self._path = Path(name)
        self._file: IO[bytes] | None = os.fdopen(handle, "wb")
        header = layout.header()
        self._start = len(header)
        self._file.write(header)
        self._file.truncate(self._start + layout.nbytes)

    def put(self, name: str, weight: GroupedInt4Weight) -> None:
        """Write one matrix."""
        if self._file is None:
            return
        parts = _parts(weight)
        try:
            for part, raw in zip(("scales", "offsets", "quants"), parts, strict=True):
                self._put_raw(self._file, f"{name}.{part}", raw)
        except OSError as error:
            _log.info("the cache of quantised weights was given up: %s", error)
            self.abandon()
            return
        self._checks[self._layout.numbers[name]] = _checksum(parts)
        self._missing.discard(name)

    def finish(self) -> None:
        """Give the file its name if it is complete."""
        if self._file is None or self._missing:
            self.abandon()
            return
        try:
            self._put_raw(self._file, _CHECKS, self._checks.numpy().tobytes())
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._file = None
            self._path.replace(self._target)
        except OSError as error:
            _log.info("the cache of quantised weights was given up: %s", error)
            self.abandon()

    def abandon(self) -> None:
        """Remove what was written."""
        with suppress(OSError):
            if self._file is not None:
                self._file.close()
        self._file = None
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    def _put_raw(self, file: IO[bytes], name: str, raw: bytes) -> None:
        file.seek(self._start + self._layout.entries[name].offset)
        file.write(raw)


class Int4Source(WeightSource):
    """A checkpoint whose matrices come in groups of 4 bits: from the cache, or quantised now."""

    def __init__(
        self,
        source: Checkpoint,
        key: str,
        folder: Path,
        check: Callable[[], None],
        choose: Choose | None = None,
    ) -> None:
        """``check`` is called before each matrix and may raise to stop the load.

        ``choose``: makes the weights of a name, or leaves them (None) to plain quantisation.
        """
        self._source = source
        self._choose = choose
        self._check = check
        shapes = {name: shape for name, shape in source.shapes.items() if _is_wanted(name, shape)}
        layout = _Layout(shapes)
        self._layout = layout
        self._done = 0
        self._total = max(1, sum(math.prod(shape) for shape in shapes.values()))
        self._file = _open(folder / f"{key}.safetensors", layout)
        self._writer: _Writer | None = None
        if self._file is None and shapes:
            with suppress(OSError):
                if shutil.disk_usage(_existing(folder)).free > layout.nbytes + _KEEP_FREE_BYTES:
                    self._writer = _Writer(folder, key, layout)

    @property
    @override
    def config(self) -> ModelConfig:
        return self._source.config

    @property
    def is_cached(self) -> bool:
        """Whether the matrices come from the disk."""
        return self._file is not None

    @property
    def share_done(self) -> float:
        """How much of the matrices was handed out, 0 to 1."""
        return self._done / self._total

    @override
    def has(self, name: str) -> bool:
        return self._source.has(name)

    @override
    def weight(self, name: str) -> Weight:
        self._check()
        if name not in self._layout.numbers:
            return self._source.weight(name)
        weight = self._from_file(name)
        if weight is None:
            weight = self._quantise(name)
            if self._writer is not None:
                self._writer.put(name, weight)
        self._done += weight.quants.numel()
        return weight

    @override
    def vector(self, name: str) -> torch.Tensor:
        return self._source.vector(name)

    def close(self, *, is_complete: bool) -> None:
        """Let go of the file; a new one is kept if ``is_complete``."""
        if self._file is not None:
            self._file.close()
        if self._writer is None:
            return
        if is_complete:
            self._writer.finish()
        else:
            self._writer.abandon()

    def _quantise(self, name: str) -> GroupedInt4Weight:
        chosen = None if self._choose is None else self._choose(name)
        if chosen is not None:
            return chosen
        return to_grouped_int4(self._source.weight(name), GROUP_SIZE)

    def _from_file(self, name: str) -> GroupedInt4Weight | None:
        if self._file is None:
            return None
        scales, offsets, packed = (
            self._file.stored(f"{name}.{part}") for part in ("scales", "offsets", "quants")
        )
        quants = torch.stack((packed & 15, packed >> 4), dim=-1).view(packed.shape[0], -1)
        weight = GroupedInt4Weight(quants, scales, offsets)
        expected = int(self._file.stored(_CHECKS)[self._layout.numbers[name]])
        raw = (part.numpy().tobytes() for part in (scales, offsets, packed))
        if _checksum(raw) == expected:
            return weight
        _log.info("the cached weights of %s are damaged", name)
        with suppress(OSError):  # where a mapped file cannot be removed, it is found out again
            self._file.path.unlink(missing_ok=True)
        return None


def is_kept(path: Path, version: str = _VERSION) -> bool:
    """Whether the weights of the model at ``path`` were quantised before, and are still there."""
    try:
        return (cache_folder() / f"{source_key(path, version)}.safetensors").is_file()
    except OSError:
        return False


@contextmanager
def int4_source(
    source: Checkpoint,
    path: Path,
    check: Callable[[], None],
    choose: Choose | None = None,
    version: str = _VERSION,
) -> Iterator[Int4Source]:
    """``source`` with its matrices in 4 bits; a cache is kept only if the block ends well.

    ``version`` names what ``choose`` does.
    """
    wrapped = Int4Source(source, source_key(path, version), cache_folder(), check, choose)
    is_complete = False
    try:
        yield wrapped
        is_complete = True
    finally:
        wrapped.close(is_complete=is_complete)


def _is_wanted(name: str, shape: Shape) -> bool:
    if len(shape) != 2 or shape[1] % GROUP_SIZE or name.endswith(".router"):
        return False
    return name == "head" or name.startswith("layers.")


def _open(path: Path, layout: _Layout) -> SafetensorsFile | None:
    """The cache at ``path`` if it is whole; one that is not is removed."""
    if not path.is_file():
        return None
    try:
        file = SafetensorsFile.open(path)
    except EngineError:
        with suppress(OSError):
            path.unlink()
        return None
    found = {name: (info.dtype, info.shape) for name, info in file.tensors.items()}
    if found != {name: (entry.dtype, entry.shape) for name, entry in layout.entries.items()}:
        file.close()
        return None
    with suppress(OSError):
        os.utime(path)  # the least recently used go first
    return file


def _checksum(parts: "Iterator[bytes] | tuple[bytes, ...]") -> int:
    value = 0
    for part in parts:
        value = zlib.crc32(part, value)
    return value


def _existing(folder: Path) -> Path:
    return next(place for place in (folder, *folder.parents) if place.exists())


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _prune(folder: Path, needed: int) -> None:
    """Remove the least recently used files until ``needed`` more bytes stay within the limit."""
    files = sorted([*folder.glob("*.safetensors"), *folder.glob("*.part")], key=_age)
    total = sum(file.stat().st_size for file in files) + needed
    for file in files:
        if total <= _LIMIT_BYTES:
            return
        size = file.stat().st_size
        with suppress(OSError):
            file.unlink()
            total -= size
