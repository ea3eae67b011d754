"""What a checkpoint says about its model: typed, checked once, and frozen.

Reads GGUF metadata and config.json; knows no tensors and no weights.
"""

from dataclasses import dataclass
from typing import Literal

RopeKind = Literal["linear", "dynamic", "llama3", "yarn", "longrope", "factors"]


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
    leading dimensions of each head that rotate (head_dim in Llama). ``eos_ids`` end an answer.
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
