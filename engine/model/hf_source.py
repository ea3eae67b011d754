"""A folder of safetensors files as a source of canonical weights."""

from dataclasses import replace
from pathlib import Path

import torch
from typing_extensions import override

from engine.model.architectures import find_family
from engine.model.checkpoint_files import CheckpointFiles
from engine.model.config import ModelConfig
from engine.model.hf_config import hf_names, read_hf_config
from engine.model.prequantized import Prequantized, Scheme, read_scheme
from engine.model.safetensors import SafetensorsFile, open_folder
from engine.model.source import (
    Shape,
    check_finite,
    check_finite_tensor,
    find_places,
    present_shapes,
)
from engine.model.wrapped_text import text_prefix, wrapped_name
from engine.quant.layout import DenseWeight, Weight
from engine.quant.stored import Stored, stored_floats


class HfSource(CheckpointFiles):
    """Copies tensors out of mapped safetensors files on demand."""

    def __init__(
        self,
        config: ModelConfig,
        files: list[SafetensorsFile],
        folder: Path,
        scheme: Scheme | None = None,
    ) -> None:
        """Check every tensor of ``files`` against ``config``; raises ModelCorruptError.

        ``scheme``: how some of the matrices were quantised before they were published.
        """
        super().__init__(files)
        self.folder = folder
        family = find_family(config.model_type)
        if family is None:
            raise ValueError(f"no family is called {config.model_type}")
        self._norms_add_one = family.hf_norms_add_one
        self._owner = {name: file for file in files for name in file.tensors}
        stored: dict[str, Shape] = {n: f.tensors[n].shape for n, f in self._owner.items()}
        self._packed = None if scheme is None else Prequantized(scheme, self._owner, str(folder))
        if self._packed is not None:
            stored |= self._packed.shapes
        prefix = text_prefix(stored)
        names = {n: wrapped_name(t, prefix) for n, t in hf_names(config, family).items()}
        if prefix:  # the wrapper's flag is about classes; what counts is whether there is a head
            config = replace(config, tie_word_embeddings=names["head"] not in stored)
        self._config = config
        self._places = find_places(config, names, stored, str(folder))
        self._shapes = present_shapes(config, self._places)

    @classmethod
    def open(cls, folder: str | Path) -> "HfSource":
        """Open and check a folder with config.json and .safetensors files.

        Raises ModelMissingError, ModelCorruptError or ModelUnsupportedError.
        """
        folder = Path(folder)
        config = read_hf_config(folder)
        scheme = read_scheme(folder)
        files = open_folder(folder)
        try:
            return cls(config, files, folder, scheme)
        except BaseException:
            for file in files:
                file.close()
            raise

    @property
    @override
    def is_four_bit(self) -> bool:
        return self._packed is not None and self._packed.is_four_bit

    @override
    def weight(self, name: str) -> Weight:
        place = self._places[name]
        if self._packed is None or place.tensor not in self._packed.shapes:
            return DenseWeight(self._read(name))
        self._bytes_read += self._packed.nbytes(place.tensor) * place.rows // place.total
        weight = self._packed.weight(place.tensor)
        if place.rows != place.total:
            weight = weight.rows(torch.arange(place.first, place.first + place.rows))
        return check_finite(weight, place.tensor, str(self.folder))

    @override
    def vector(self, name: str) -> torch.Tensor:
        values = self._read(name).float()
        return values + 1.0 if self._norms_add_one and name.endswith("norm") else values

    @override
    def stored(self, name: str) -> Stored:
        tensor = self._places[name].tensor
        if self._packed is not None and tensor in self._packed.shapes:
            return self._packed.stored(tensor)
        return stored_floats(self._owner[tensor].tensors[tensor].dtype)

    def _read(self, name: str) -> torch.Tensor:
        place = self._places[name]
        file = self._owner[place.tensor]
        self._bytes_read += file.tensors[place.tensor].nbytes * place.rows // place.total
        values = file.tensor(place.tensor, place.first, place.rows)
        return check_finite_tensor(values, place.tensor, str(self.folder))
