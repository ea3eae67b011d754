"""A folder of safetensors files as the parameters of one of transformers' models.

Which stored tensors make which parameter is transformers' own knowledge (renamed, stacked, split);
the bytes come from the engine's own reader, one parameter at a time.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import torch
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.conversion_mapping import get_model_conversion_mapping
from transformers.core_model_loading import WeightConverter, WeightRenaming, rename_source_key
from typing_extensions import override

from engine.model.checkpoint_files import CheckpointFiles
from engine.model.compat.paged_cache import LayerShape
from engine.model.compat.skeleton import FAULTS, build_skeleton, probe_layers, read_settings
from engine.model.config import ModelConfig, corrupt
from engine.model.fields import Fields
from engine.model.prequantized import Prequantized, Scheme, read_scheme
from engine.model.safetensors import SafetensorsFile, open_folder, read_json
from engine.model.source import Checkpoint, Shape, check_finite, check_finite_tensor
from engine.quant.layout import DenseWeight, Weight
from engine.quant.stored import Stored, stored_floats

_MAX_CONFIG_BYTES = 10_000_000
_DEFAULT_CONTEXT = 2_048  # of models that count no positions
_CONTEXT_NAMES = ("max_position_embeddings", "seq_length", "max_seq_len", "max_sequence_length")


@dataclass(slots=True)
class _Recipe:
    """How one parameter is made: a stored tensor as it is, or several through ``converter``."""

    converter: WeightConverter | None = None
    stored: list[tuple[str, str]] = field(default_factory=list)


class Parameters(Checkpoint, Protocol):
    """A checkpoint by the names of transformers' parameters."""

    folder: Path
    settings: PreTrainedConfig
    layer_shapes: tuple[LayerShape, ...]

    @property
    def num_parameters(self) -> int:
        """How many parameters and buffers the files hold."""
        ...

    def parameters(self) -> Iterator[tuple[str, Weight | torch.Tensor]]:
        """Every parameter and buffer the files hold, read one at a time.

        Matrices that were quantised before they were published come as they are; all else as
        floats in the type of the file.
        """
        ...


class CompatSource(CheckpointFiles, Parameters):
    """Copies tensors out of mapped safetensors files; names are those of transformers."""

    def __init__(
        self,
        folder: Path,
        files: list[SafetensorsFile],
        settings: PreTrainedConfig,
        layer_shapes: tuple[LayerShape, ...],
        scheme: Scheme | None = None,
    ) -> None:
        """Find each parameter's tensors; raises ModelCorruptError or ModelUnsupportedError."""
        super().__init__(files)
        self.folder = folder
        self.settings = settings
        self.layer_shapes = layer_shapes
        self._owner = {name: file for file in files for name in file.tensors}
        self._stored: dict[str, Shape] = {n: f.tensors[n].shape for n, f in self._owner.items()}
        self._packed = None if scheme is None else Prequantized(scheme, self._owner, str(folder))
        if self._packed is not None:
            self._stored |= self._packed.shapes
        skeleton = build_skeleton(settings, torch.float32, folder)
        self._wanted: dict[str, Shape] = {
            name: tuple(tensor.shape) for name, tensor in skeleton.state_dict().items()
        }
        self._recipes = self._find_recipes(skeleton)
        self._shapes: Mapping[str, Shape] = self._present_shapes()
        self._config = model_config(settings, self.layer_shapes, folder)

    @classmethod
    def open(cls, folder: Path) -> "CompatSource":
        """Open and check a folder with config.json and .safetensors files.

        Raises ModelMissingError, ModelCorruptError or ModelUnsupportedError.
        """
        values = read_json(folder / "config.json", _MAX_CONFIG_BYTES)
        model_type = Fields(values, str(folder)).text("model_type")
        settings = read_settings(values, model_type, folder)
        scheme = read_scheme(folder)
        layer_shapes = probe_layers(settings, folder)
        with ExitStack() as opened:
            files = open_folder(folder)
            for file in files:
                opened.callback(file.close)
            source = cls(folder, files, settings, layer_shapes, scheme)
            opened.pop_all()  # all is well: the files stay open
        return source

    @property
    @override
    def is_four_bit(self) -> bool:
        return self._packed is not None and self._packed.is_four_bit

    @property
    @override
    def num_parameters(self) -> int:
        return len(self._recipes)

    @override
    def has(self, name: str) -> bool:
        return name in self._recipes

    @override
    def weight(self, name: str) -> Weight:
        parts = dict(self._make(name, self._recipes[name]))
        part = parts[name]
        return DenseWeight(part) if isinstance(part, torch.Tensor) else part

    @override
    def vector(self, name: str) -> torch.Tensor:
        return self.weight(name).dequantize()

    @override
    def stored(self, name: str) -> Stored:
        if self._packed is not None and name in self._packed.shapes:
            return self._packed.stored(name)
        return stored_floats(self._owner[name].tensors[name].dtype)

    @override
    def parameters(self) -> Iterator[tuple[str, Weight | torch.Tensor]]:
        for name, recipe in self._recipes.items():
            yield from self._make(name, recipe)

    # ------------------------------------------------------------------ which tensors

    def _find_recipes(self, skeleton: PreTrainedModel) -> dict[str, _Recipe]:
        transforms = get_model_conversion_mapping(skeleton)
        renamings = [t for t in transforms if isinstance(t, WeightRenaming)]
        converters = [t for t in transforms if isinstance(t, WeightConverter)]
        by_pattern = {pattern: c for c in converters for pattern in c.source_patterns}
        prefix, state = skeleton.base_model_prefix, dict(skeleton.state_dict())
        recipes: dict[str, _Recipe] = {}
        for stored in self._stored:
            name, pattern = rename_source_key(stored, renamings, converters, prefix, state)
            if name not in state and stored in state:
                name, pattern = stored, None
            if name not in state:
                continue  # parts that this model does not have
            recipe = recipes.setdefault(name, _Recipe())
            if pattern is None:
                self._check_shape(stored, name)
            elif recipe.converter is None:
                recipe.converter = deepcopy(by_pattern[pattern])
            recipe.stored.append((stored, pattern or stored))
        return {name: recipes[name] for name in state if name in recipes}

    def _check_shape(self, stored: str, name: str) -> None:
        shape, wanted = self._stored[stored], self._wanted[name]
        if shape != wanted:
            reason = f"the tensor {stored[:80]} has shape {list(shape)}, not {list(wanted)}"
            raise corrupt(str(self.folder), reason)

    def _present_shapes(self) -> dict[str, Shape]:
        """Of the stored tensors that are used; a stack of matrices [E, N, K] as [E * N, K]."""
        used = [stored for recipe in self._recipes.values() for stored, _pattern in recipe.stored]
        flat: dict[str, Shape] = {}
        for name in used:
            *rows, columns = self._stored[name] or (1,)
            flat[name] = (torch.Size(rows).numel(), columns) if rows else (columns,)
        return flat

    # ------------------------------------------------------------------ reading them

    def _make(self, name: str, recipe: _Recipe) -> Iterator[tuple[str, Weight | torch.Tensor]]:
        if recipe.converter is None:
            yield name, self._read(recipe.stored[0][0])
            return
        converter = deepcopy(recipe.converter)
        for stored, pattern in sorted(recipe.stored, key=_numbered):
            # called, one after the other, when the converter needs them
            read: Any = partial(self._read_dense, stored)
            converter.add_tensor(name, stored, pattern, read)
        try:
            made = converter.convert(name, config=self.settings)
        except FAULTS as error:
            raise corrupt(
                str(self.folder), f"the tensors of {name} do not fit together"
            ) from error
        for part, value in made.items():
            yield part, value[0] if isinstance(value, list) else value

    def _read_dense(self, stored: str) -> torch.Tensor:
        part = self._read(stored)
        return part if isinstance(part, torch.Tensor) else part.dequantize()

    def _read(self, stored: str) -> Weight | torch.Tensor:
        if self._packed is not None and stored in self._packed.shapes:
            self._bytes_read += self._packed.nbytes(stored)
            return check_finite(self._packed.weight(stored), stored, str(self.folder))
        values = self._owner[stored].stored(stored)
        self._bytes_read += values.nbytes
        return check_finite_tensor(values, stored, str(self.folder))


def _numbered(stored: tuple[str, str]) -> list[tuple[int, str]]:
    """Sorts expert 10 after expert 9."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in stored[0].split(".")]


def model_config(
    settings: PreTrainedConfig, shapes: tuple[LayerShape, ...], folder: Path
) -> ModelConfig:
    """What the engine wants to know; sizes the model does not have are 0."""

    def whole(*names: str, default: int = 0) -> int:
        values = [getattr(settings, name, None) for name in names]
        found = [v for v in values if type(v) is int and v > 0]
        return found[0] if found else default

    num_kv_heads = max(shape.num_heads for shape in shapes)
    window, sliding = _windows(settings, len(shapes))
    return ModelConfig(
        model_type=settings.model_type,
        name=folder.resolve().name,
        vocab_size=whole("vocab_size"),
        hidden_size=whole("hidden_size"),
        intermediate_size=whole("intermediate_size", "ffn_dim", "ffn_hidden_size", "n_inner"),
        num_layers=len(shapes),
        num_heads=whole("num_attention_heads", default=num_kv_heads),
        num_kv_heads=num_kv_heads,
        head_dim=max(max(shape.key_dim, shape.value_dim) for shape in shapes),
        rms_norm_eps=0.0,
        rope_theta=0.0,
        max_position_embeddings=whole(*_CONTEXT_NAMES, default=_DEFAULT_CONTEXT),
        tie_word_embeddings=bool(getattr(settings, "tie_word_embeddings", False)),
        sliding_window=window,
        sliding_layers=sliding,
    )


def _windows(settings: PreTrainedConfig, num_layers: int) -> tuple[int, tuple[bool, ...]]:
    """The window, and which layers have it, where the configuration marks each layer; else none.

    Other layers keep all tokens: what a model that does not mark them looks back on is its secret.
    """
    kinds = getattr(settings, "layer_types", None)
    window = getattr(settings, "sliding_window", None)
    if not isinstance(kinds, list) or len(kinds) != num_layers or type(window) is not int:
        return 0, ()
    sliding = tuple(kind == "sliding_attention" for kind in kinds)
    return (window, sliding) if window > 0 and any(sliding) else (0, ())
