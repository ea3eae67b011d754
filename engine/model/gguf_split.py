"""A GGUF model in several files, name-00001-of-0000N.gguf, read as one.

The first file carries the metadata; each carries some of the tensors. Any of them may be the one
that was chosen.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

import numpy as np
import numpy.typing as npt
from typing_extensions import override

from engine.errors import ModelMissingError
from engine.model.config import corrupt
from engine.model.gguf import GgufFile, MetadataValue, TensorInfo

_NAME = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.gguf", re.IGNORECASE)
_COUNT = "split.count"
_NUMBER = "split.no"
_NUM_TENSORS = "split.tensors.count"
_MAX_FILES = 4_096


class GgufTensors(Protocol):
    """What a checkpoint reader needs of a GGUF file, whether it is one file or several."""

    @property
    def path(self) -> Path:
        """The file, or the first of several."""
        ...

    @property
    def file_bytes(self) -> int:
        """Size of all files."""
        ...

    @property
    def metadata(self) -> Mapping[str, MetadataValue]:
        """The header's key-value pairs."""
        ...

    @property
    def tensors(self) -> Mapping[str, TensorInfo]:
        """The table; offsets count from the start of the file that holds the tensor."""
        ...

    def raw(self, name: str) -> npt.NDArray[np.uint8]:
        """The bytes of tensor ``name``, a read-only view of the file. KeyError if absent."""
        ...

    def close(self) -> None:
        """Unmap all files."""
        ...


def open_gguf(path: str | Path) -> GgufTensors:
    """Open a GGUF file, with all its siblings if it is one of several.

    Raises what ``GgufFile.open`` raises; ModelMissingError names a sibling that is not there.
    """
    path = Path(path)
    match = _NAME.fullmatch(path.name)
    count = int(match[3]) if match else 1
    if match is None or not 1 < count <= _MAX_FILES:
        return _single(GgufFile.open(path))
    paths = [
        path.with_name(f"{match[1]}-{number:05}-of-{count:05}.gguf")
        for number in range(1, count + 1)
    ]
    paths[int(match[2]) - 1 : int(match[2])] = [path]  # spelled as it was chosen
    if not path.exists():
        raise ModelMissingError(f"There is no model at {path}.", path=str(path))
    missing = [p.name for p in paths if not p.exists()]
    if missing:
        raise ModelMissingError(
            f"The model is in {count} files and {missing[0]} is missing. Put all of them in one "
            "folder.",
            path=str(path),
            part=missing[0],
            count=count,
        )
    with ExitStack() as opened:
        files = [opened.enter_context(GgufFile.open(p)) for p in paths]
        split = SplitGguf(files)
        opened.pop_all()  # all is well: the files stay open
    return split


class SplitGguf(GgufTensors):
    """Several open files as one; closes them with itself."""

    def __init__(self, files: Sequence[GgufFile]) -> None:
        """Take the files in order; raises ModelCorruptError when they do not belong together."""
        self._files = tuple(files)
        self._owner: dict[str, GgufFile] = {}
        tensors: dict[str, TensorInfo] = {}
        for number, file in enumerate(files):
            self._check_place(file, number)
            for name, info in file.tensors.items():
                if name in tensors:
                    raise corrupt(str(file.path), f"tensor {name[:64]!a} is in two of its files")
                tensors[name] = info
                self._owner[name] = file
        announced = self.metadata.get(_NUM_TENSORS, len(tensors))
        if announced != len(tensors):
            raise corrupt(
                str(self.path), f"its files hold {len(tensors)} tensors and not {announced}"
            )
        self._tensors = MappingProxyType(tensors)

    @property
    @override
    def path(self) -> Path:
        return self._files[0].path

    @property
    @override
    def file_bytes(self) -> int:
        return sum(file.file_bytes for file in self._files)

    @property
    @override
    def metadata(self) -> Mapping[str, MetadataValue]:
        return self._files[0].metadata

    @property
    @override
    def tensors(self) -> Mapping[str, TensorInfo]:
        return self._tensors

    @override
    def raw(self, name: str) -> npt.NDArray[np.uint8]:
        return self._owner[name].raw(name)

    @override
    def close(self) -> None:
        for file in self._files:
            file.close()

    def _check_place(self, file: GgufFile, number: int) -> None:
        count, place = file.metadata.get(_COUNT), file.metadata.get(_NUMBER)
        if count != len(self._files) or place != number:
            raise corrupt(
                str(file.path), f"it says that it is file {place} of {count} (counted from 0)"
            )


def _single(file: GgufFile) -> GgufFile:
    """``file``, unless it is a part that was renamed so that its siblings cannot be found."""
    count = file.metadata.get(_COUNT, 1)
    if isinstance(count, int) and count > 1:
        file.close()
        raise ModelMissingError(
            f"{file.path.name} is one of {count} files. Give them their names back, which end in "
            f"-00001-of-{count:05}.gguf and so on.",
            path=str(file.path),
        )
    return file
