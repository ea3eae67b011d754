"""The layers that stay on the CPU, quantised to 4 bits as well as those of a whole model are.

Knows which matrices those are; ``engine.model.weight_cache`` quantises them and keeps the result.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from typing_extensions import override

from engine.model.config import ModelConfig
from engine.model.source import Checkpoint, Shape
from engine.model.weight_cache import Int4Source, cache_folder, int4_source, source_key
from engine.quant.layout import Weight
from engine.quant.stored import Stored


class FirstLayers(Checkpoint):
    """A checkpoint that lists no more than its first ``count`` layers, and gives out the rest too."""

    def __init__(self, source: Checkpoint, count: int) -> None:
        self._source = source
        own = tuple(f"layers.{index}." for index in range(count))
        self._shapes = {n: shape for n, shape in source.shapes.items() if n.startswith(own)}

    @property
    @override
    def config(self) -> ModelConfig:
        return self._source.config

    @property
    @override
    def file_bytes(self) -> int:
        return self._source.file_bytes

    @property
    @override
    def bytes_read(self) -> int:
        return self._source.bytes_read

    @property
    @override
    def shapes(self) -> Mapping[str, Shape]:
        return self._shapes

    @property
    @override
    def is_four_bit(self) -> bool:
        return self._source.is_four_bit

    @override
    def has(self, name: str) -> bool:
        return self._source.has(name)

    @override
    def weight(self, name: str) -> Weight:
        return self._source.weight(name)

    @override
    def vector(self, name: str) -> torch.Tensor:
        return self._source.vector(name)

    @override
    def stored(self, name: str) -> Stored:
        return self._source.stored(name)

    @override
    def close(self) -> None:
        self._source.close()


@contextmanager
def int4_first_layers(
    source: Checkpoint, path: Path, count: int, check: Callable[[], None]
) -> Iterator[Int4Source]:
    """``source`` with the matrices of its first ``count`` layers in 4 bits.

    Reads what was kept of the whole model, or of these layers; what is quantised now is kept if the
    block ends well. ``check`` is called before each matrix and may raise to stop.
    """
    key = source_key(path)
    if (cache_folder() / f"{key}.safetensors").is_file():
        with int4_source(source, path, check) as whole:
            yield whole
        return
    part = Int4Source(FirstLayers(source, count), f"{key}-{count}", cache_folder(), check)
    is_complete = False
    try:
        yield part
        is_complete = True
    finally:
        part.close(is_complete=is_complete)
