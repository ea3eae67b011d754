"""What a checkpoint says about its model: typed, checked once, and frozen.

Knows no file format: ``engine.model.gguf_config`` and ``engine.model.hf_config`` fill it in.
"""

from dataclasses import dataclass
from typing import Literal

from engine.errors import ModelCorruptError

RopeKind = Literal["linear", "dynamic", "llama3", "yarn", "longrope", "factors"]

_MAX_LAYERS = 1_024
_MAX_SIZE = 1 << 24
_MAX_CONTEXT = 1 << 28


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How rotary frequencies are stretched past the trained context.

    Only the fields of ``kind`` matter. ``freq_factors`` ("factors": divisors of each of the
    head_dim / 2 frequencies, as GGUF stores llama3 scaling) and ``short_factors`` /
    ``long_factors`` ("longrope") have one entry a rotated pair. ``attention_factor`` None means
    the kind's own default.
    """

    kind: RopeKind
    factor: float = 1.0
    original_max_position: int = 0
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    mscale: float = 0.0
    mscale_all_dim: float = 0.0
    attention_factor: float | None = None
    freq_factors: tuple[float, ...] = ()
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The shape of a decoder-only model.

    ``max_position_embeddings`` is the trained context in tokens. ``rotary_dim`` is the number of
    leading dimensions of each head that rotate (0: all of them). ``eos_ids`` end an answer.
    """

    model_type: str
    name: str
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    rms_norm_eps: float
    rope_theta: float
    max_position_embeddings: int
    rotary_dim: int = 0
    rope_scaling: RopeScaling | None = None
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    license: str = ""
    bos_id: int | None = None
    eos_ids: tuple[int, ...] = ()


def check_config(config: ModelConfig, path: str) -> ModelConfig:
    """Return ``config`` if a model can have that shape.

    Raises ModelCorruptError naming the first value that is out of range or does not fit another.
    """
    limits = {
        "vocab_size": _MAX_SIZE,
        "hidden_size": _MAX_SIZE,
        "intermediate_size": _MAX_SIZE,
        "num_layers": _MAX_LAYERS,
        "num_heads": _MAX_LAYERS,
        "num_kv_heads": _MAX_LAYERS,
        "head_dim": 1_024,
        "max_position_embeddings": _MAX_CONTEXT,
        "rope_theta": 1e15,
        "rms_norm_eps": 1.0,
    }
    for key, limit in limits.items():
        value = getattr(config, key)
        if not 0 < value <= limit:
            raise corrupt(path, f"its {key} is {value}")
    if config.num_heads % config.num_kv_heads:
        raise corrupt(
            path, f"{config.num_heads} heads cannot share {config.num_kv_heads} key-value heads"
        )
    if config.head_dim % 2:
        raise corrupt(path, f"its head_dim {config.head_dim} is odd and cannot rotate in pairs")
    ids = [*config.eos_ids, *([] if config.bos_id is None else [config.bos_id])]
    for token in ids:
        if not 0 <= token < config.vocab_size:
            raise corrupt(path, f"its special token {token} is not in the vocabulary")
    return config


def corrupt(path: str, reason: str) -> ModelCorruptError:
    """The error for a checkpoint that contradicts itself."""
    return ModelCorruptError(
        f"The model at {path} is not sound: {reason}. Download it again.",
        path=path,
        reason=reason,
    )
