"""What the readers of all kinds of checkpoints have in common: open files, shapes, a byte count."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from typing_extensions import override

from engine.model.config import ModelConfig
from engine.model.source import Checkpoint, Shape


class OpenFile(Protocol):
    """A file, or the parts of a split one, whose tensors can be read."""

    @property
    def file_bytes(self) -> int:
        """Its size."""
        ...

    def close(self) -> None:
        """Let go of it."""
        ...


class CheckpointFiles(Checkpoint):
    """A reader over open files. A subclass sets ``_config`` and ``_shapes`` when it is made.

    Whatever it decodes it adds to ``_bytes_read``.
    """

    _config: ModelConfig
    _shapes: Mapping[str, Shape]

    def __init__(self, files: Sequence[OpenFile]) -> None:
        self._files = files
        self._bytes_read = 0

    @property
    @override
    def config(self) -> ModelConfig:
        return self._config

    @property
    @override
    def file_bytes(self) -> int:
        return sum(file.file_bytes for file in self._files)

    @property
    @override
    def bytes_read(self) -> int:
        return self._bytes_read

    @property
    @override
    def shapes(self) -> Mapping[str, Shape]:
        return self._shapes

    @override
    def has(self, name: str) -> bool:
        return name in self._shapes

    @override
    def close(self) -> None:
        for file in self._files:
            file.close()
