"""A GGUF file as a source of canonical weights."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from typing_extensions import override

from engine.errors import ModelUnsupportedError
from engine.model.architectures import find_family
from engine.model.checkpoint_files import CheckpointFiles
from engine.model.gguf import MetadataValue, TensorInfo
from engine.model.gguf_config import gguf_names, read_gguf_config
from engine.model.gguf_split import GgufTensors, open_gguf
from engine.model.source import (
    check_finite,
    check_finite_tensor,
    find_places,
    present_shapes,
)
from engine.quant.ggml import can_decode, decode, decode_vector, is_four_bit
from engine.quant.layout import Weight
from engine.quant.stored import Stored, stored_as


class GgufSource(CheckpointFiles):
    """Decodes the tensors of an open GGUF file on demand; closes the file with itself."""

    def __init__(self, file: GgufTensors) -> None:
        """Read the header of ``file`` and check every tensor against it.

        Raises ModelUnsupportedError or ModelCorruptError.
        """
        super().__init__([file])
        self._file = file
        self.path = str(file.path)
        self._config = read_gguf_config(file)
        family = find_family(self._config.model_type)
        if family is None:
            raise ValueError(f"no family is called {self._config.model_type}")
        self._is_interleaved = family.is_interleaved
        stored = {name: info.shape for name, info in file.tensors.items()}
        names = gguf_names(self._config, family, stored)
        self._places = find_places(self._config, names, stored, self.path)
        self._shapes = present_shapes(self._config, self._places)
        for tensor in {place.tensor for place in self._places.values()}:
            self._check_type(file.tensors[tensor])

    @classmethod
    def open(cls, path: str | Path) -> "GgufSource":
        """Open and check the file at ``path``; raises what open_gguf and __init__ raise."""
        file = open_gguf(path)
        try:
            return cls(file)
        except BaseException:
            file.close()
            raise

    @property
    def metadata(self) -> Mapping[str, MetadataValue]:
        """The file's header, tokenizer and chat template included."""
        return self._file.metadata

    @property
    @override
    def is_four_bit(self) -> bool:
        tensors = {p.tensor for name, p in self._places.items() if name.startswith("layers.")}
        infos = [self._file.tensors[tensor] for tensor in tensors]
        four_bit = sum(info.nbytes for info in infos if is_four_bit(info.type))
        return four_bit * 2 > sum(info.nbytes for info in infos)

    @override
    def weight(self, name: str) -> Weight:
        info, raw = self._read(name)
        weight = decode(raw, info.type, (self._places[name].rows, info.shape[-1]))
        check_finite(weight, info.name, self.path)
        heads = self._interleaved_heads(name)
        return weight.rows(_half_split_order(heads, self._config.head_dim)) if heads else weight

    @override
    def vector(self, name: str) -> torch.Tensor:
        info, raw = self._read(name)
        values = decode_vector(raw, info.type)
        check_finite_tensor(values, info.name, self.path)
        heads = self._interleaved_heads(name)
        return values[_half_split_order(heads, self._config.head_dim)] if heads else values

    @override
    def stored(self, name: str) -> Stored:
        return stored_as(self._file.tensors[self._places[name].tensor].type)

    def _read(self, name: str) -> tuple[TensorInfo, npt.NDArray[np.uint8]]:
        """The tensor that holds ``name``, and the bytes of its rows there."""
        place = self._places[name]
        info = self._file.tensors[place.tensor]
        row_bytes = info.nbytes // place.total
        first = place.first * row_bytes
        nbytes = place.rows * row_bytes
        self._bytes_read += nbytes
        return info, self._file.raw(place.tensor)[first : first + nbytes]

    def _check_type(self, info: TensorInfo) -> None:
        if not can_decode(info.type):
            raise ModelUnsupportedError(
                f"{self._file.path.name} keeps weights as {info.type.name}, which this version "
                "cannot read.",
                path=self.path,
                feature=info.type.name,
            )

    def _interleaved_heads(self, name: str) -> int:
        """How many heads of ``name`` have the rows of each pair side by side."""
        if not self._is_interleaved:
            return 0
        match name.rpartition(".")[2]:
            case "q" | "q_bias":
                return self._config.num_heads
            case "k" | "k_bias":
                return self._config.num_kv_heads
            case _:
                return 0


def _half_split_order(num_heads: int, head_dim: int) -> torch.Tensor:
    """Rows of the file in the order this engine rotates them.

    A Llama GGUF file keeps the two rows of a rotated pair side by side; we keep all first rows
    of a head and then all second ones: file 0 1 2 3 ... -> ours 0 2 4 ... 1 3 5 ...
    """
    rows = torch.arange(num_heads * head_dim).view(num_heads, head_dim // 2, 2)
    return rows.transpose(1, 2).reshape(-1)
