"""Parameters by canonical name, whatever the file calls them.

Names: ``embed``, ``norm``, ``head`` (absent when tied), and for each layer i
``layers.{i}.q``, ``.k``, ``.v``, ``.o``, ``.gate``, ``.up``, ``.down``, optionally each with
``_bias``. The norms a family has: ``.attention_norm`` and ``.ffn_norm`` before the two blocks,
``.post_attention_norm`` and ``.post_ffn_norm`` after them, ``.q_norm`` and ``.k_norm``. A mixture
of experts has ``.router`` and ``.experts.{e}.gate``, ``.up``, ``.down`` in place of the plain ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from engine.model.config import ModelConfig, corrupt
from engine.quant.layout import DenseWeight, GroupedInt4Weight, GroupedInt8Weight, Weight
from engine.quant.stored import Stored

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

    def stored(self, name: str) -> Stored:
        """How the files keep the matrix ``name``."""
        ...

    def close(self) -> None:
        """Let go of the files."""
        ...


@dataclass(frozen=True, slots=True)
class Place:
    """Rows [first, first + rows) of a file's ``tensor``, which has ``total`` rows in all.

    The rows of a vector are its values; those of a stack of matrices [E, N, K] are E * N.
    """

    tensor: str
    first: int
    rows: int
    total: int


def required_shapes(config: ModelConfig) -> dict[str, Shape]:
    """What every checkpoint of this shape must hold."""
    hidden = config.hidden_size
    shapes: dict[str, Shape] = {"embed": (config.vocab_size, hidden), "norm": (hidden,)}
    if not config.tie_word_embeddings:
        shapes["head"] = (config.vocab_size, hidden)
    layer = _norm_shapes(config) | _attention_shapes(config)
    dense, mixed = layer | _dense_shapes(config), layer | _expert_shapes(config)
    for index in range(config.num_layers):
        for name, shape in (mixed if config.has_experts(index) else dense).items():
            shapes[f"layers.{index}.{name}"] = shape
    return shapes


def _norm_shapes(config: ModelConfig) -> dict[str, Shape]:
    hidden, head_dim = (config.hidden_size,), config.head_dim
    shapes: dict[str, Shape] = {}
    if config.norms != "after":
        shapes |= {"attention_norm": hidden, "ffn_norm": hidden}
    if config.norms != "before":
        shapes |= {"post_attention_norm": hidden, "post_ffn_norm": hidden}
    if config.qk_norm == "head":
        shapes |= {"q_norm": (head_dim,), "k_norm": (head_dim,)}
    if config.qk_norm == "projection":
        shapes["q_norm"] = (config.num_heads * head_dim,)
        shapes["k_norm"] = (config.num_kv_heads * head_dim,)
    return shapes


def _attention_shapes(config: ModelConfig) -> dict[str, Shape]:
    hidden = config.hidden_size
    queries = config.num_heads * config.head_dim
    keys = config.num_kv_heads * config.head_dim
    return {
        "q": (queries, hidden),
        "k": (keys, hidden),
        "v": (keys, hidden),
        "o": (hidden, queries),
    }


def _dense_shapes(config: ModelConfig) -> dict[str, Shape]:
    hidden, inner = config.hidden_size, config.intermediate_size
    return {"gate": (inner, hidden), "up": (inner, hidden), "down": (hidden, inner)}


def _expert_shapes(config: ModelConfig) -> dict[str, Shape]:
    if config.experts is None:
        return {}
    hidden, inner = config.hidden_size, config.experts.intermediate_size
    shapes: dict[str, Shape] = {"router": (config.experts.count, hidden)}
    for expert in range(config.experts.count):
        shapes[f"experts.{expert}.gate"] = (inner, hidden)
        shapes[f"experts.{expert}.up"] = (inner, hidden)
        shapes[f"experts.{expert}.down"] = (hidden, inner)
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
    }
    dense = layer | {
        "gate_bias": (config.intermediate_size,),
        "up_bias": (config.intermediate_size,),
        "down_bias": (config.hidden_size,),
    }
    return {
        f"layers.{index}.{name}": shape
        for index in range(config.num_layers)
        for name, shape in (layer if config.has_experts(index) else dense).items()
    }


def find_places(
    config: ModelConfig, names: Mapping[str, str], stored: Mapping[str, Shape], path: str
) -> dict[str, Place]:
    """Check a file's tensors against the model's shape, and say where each parameter lies.

    Parameters that ``names`` gives the same tensor lie in it one after the other, in the order
    q, k, v or gate, up or by expert.

    Args:
        config: what the header says.
        names: canonical name -> name in the file.
        stored: name in the file -> shape, outermost first.
        path: for the error.

    Returns:
        Canonical name -> place of every parameter present.

    Raises:
        ModelCorruptError: one is missing or has another shape.
    """
    places: dict[str, Place] = {}
    required = required_shapes(config)
    expected = required | optional_shapes(config)
    sharing: dict[str, list[str]] = {}
    for name in expected:
        sharing.setdefault(names[name], []).append(name)
    for tensor, members in sharing.items():
        shape = stored.get(tensor)
        if shape is None:
            if any(name in required for name in members):
                raise corrupt(path, f"the tensor {tensor} is missing")
            continue
        total = sum(expected[name][0] for name in members)
        wanted = (total, *expected[members[0]][1:])
        is_stack = len(members) > 1 and len(shape) == len(wanted) + 1
        if ((shape[0] * shape[1], *shape[2:]) if is_stack else shape) != wanted:
            raise corrupt(path, f"the tensor {tensor} has shape {list(shape)}, not {list(wanted)}")
        first = 0
        for name in members:
            places[name] = Place(tensor, first, expected[name][0], total)
            first += expected[name][0]
    return places


def present_shapes(config: ModelConfig, places: Mapping[str, Place]) -> dict[str, Shape]:
    """Canonical name -> shape of every parameter that has a place."""
    expected = required_shapes(config) | optional_shapes(config)
    return {name: shape for name, shape in expected.items() if name in places}


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
