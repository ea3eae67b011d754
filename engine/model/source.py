"""Parameters by canonical name, whatever the file calls them.

Names: ``embed``, ``norm``, ``head`` (absent when tied), and for each layer i
``layers.{i}.attention_norm``, ``.q``, ``.k``, ``.v``, ``.o``, ``.ffn_norm``, ``.gate``, ``.up``,
``.down``, optionally ``.q_bias``, ``.k_bias``, ``.v_bias``, ``.o_bias``, ``.gate_bias``,
``.up_bias``, ``.down_bias``.
"""

from collections.abc import Mapping
from typing import Protocol

import torch

from engine.model.config import ModelConfig, corrupt
from engine.quant.layout import DenseWeight, GroupedInt4Weight, GroupedInt8Weight, Weight

Shape = tuple[int, ...]


class WeightSource(Protocol):
    """A checkpoint open for reading, one tensor at a time."""

    @property
    def config(self) -> ModelConfig:
        """The model's shape; every tensor was checked against it when the source was opened."""
        ...

    def has(self, name: str) -> bool:
        """Whether the checkpoint holds the canonical ``name``."""
        ...

    def weight(self, name: str) -> Weight:
        """A matrix [N, K], decoded now; q and k rows in the half-split rotary order."""
        ...

    def vector(self, name: str) -> torch.Tensor:
        """A norm or a bias, float32 [N]."""
        ...


class Checkpoint(WeightSource, Protocol):
    """A WeightSource on disk, with what the loader wants to know about it."""

    @property
    def file_bytes(self) -> int:
        """Size of all files."""
        ...

    @property
    def bytes_read(self) -> int:
        """Bytes of the tensors decoded so far."""
        ...

    @property
    def shapes(self) -> Mapping[str, Shape]:
        """Shape of every parameter the checkpoint holds, by canonical name."""
        ...

    @property
    def is_four_bit(self) -> bool:
        """Whether most of the layers' weights have 4 bits in the file."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


def required_shapes(config: ModelConfig) -> dict[str, Shape]:
    """What every checkpoint of this shape must hold."""
    hidden, inner = config.hidden_size, config.intermediate_size
    queries = config.num_heads * config.head_dim
    keys = config.num_kv_heads * config.head_dim
    shapes: dict[str, Shape] = {"embed": (config.vocab_size, hidden), "norm": (hidden,)}
    if not config.tie_word_embeddings:
        shapes["head"] = (config.vocab_size, hidden)
    layer: dict[str, Shape] = {
        "attention_norm": (hidden,),
        "q": (queries, hidden),
        "k": (keys, hidden),
        "v": (keys, hidden),
        "o": (hidden, queries),
        "ffn_norm": (hidden,),
        "gate": (inner, hidden),
        "up": (inner, hidden),
        "down": (hidden, inner),
    }
    for index in range(config.num_layers):
        for name, shape in layer.items():
            shapes[f"layers.{index}.{name}"] = shape
    return shapes


def optional_shapes(config: ModelConfig) -> dict[str, Shape]:
    """Biases some checkpoints hold as well."""
    queries = config.num_heads * config.head_dim
    keys = config.num_kv_heads * config.head_dim
    layer: dict[str, Shape] = {
        "q_bias": (queries,),
        "k_bias": (keys,),
        "v_bias": (keys,),
        "o_bias": (config.hidden_size,),
        "gate_bias": (config.intermediate_size,),
        "up_bias": (config.intermediate_size,),
        "down_bias": (config.hidden_size,),
    }
    return {
        f"layers.{index}.{name}": shape
        for index in range(config.num_layers)
        for name, shape in layer.items()
    }


def check_shapes(
    config: ModelConfig, names: Mapping[str, str], stored: Mapping[str, Shape], path: str
) -> dict[str, Shape]:
    """Check a file's tensors against the model's shape.

    Args:
        config: what the header says.
        names: canonical name -> name in the file.
        stored: name in the file -> shape, outermost first.
        path: for the error.

    Returns:
        Canonical name -> shape of every parameter present.

    Raises:
        ModelCorruptError: one is missing or has another shape.
    """
    present: dict[str, Shape] = {}
    required = required_shapes(config)
    for name, expected in (required | optional_shapes(config)).items():
        shape = stored.get(names[name])
        if shape is None:
            if name in required:
                raise corrupt(path, f"the tensor {names[name]} is missing")
            continue
        if shape != expected:
            raise corrupt(
                path, f"the tensor {names[name]} has shape {list(shape)}, not {list(expected)}"
            )
        present[name] = shape
    return present


def check_finite(weight: Weight, name: str, path: str) -> Weight:
    """Return ``weight`` if no value is infinite or not a number; looks at scales where it can."""
    match weight:
        case GroupedInt4Weight(scales=scales, offsets=offsets):
            parts = [scales, offsets]
        case GroupedInt8Weight(scales=scales, offsets=None):
            parts = [scales]
        case GroupedInt8Weight(scales=scales, offsets=torch.Tensor() as offsets):
            parts = [scales, offsets]
        case DenseWeight(values=values):
            parts = [values]
        case _:
            parts = [weight.dequantize()]
    for part in parts:
        check_finite_tensor(part, name, path)
    return weight


def check_finite_tensor(values: torch.Tensor, name: str, path: str) -> torch.Tensor:
    """Return ``values`` if all are finite: one pass, since a sum keeps every inf and NaN."""
    total = values.sum(dtype=torch.float64)
    if not bool(torch.isfinite(total)):
        raise corrupt(path, f"the tensor {name} holds values that are not numbers")
    return values
