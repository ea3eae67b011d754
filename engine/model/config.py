"""What a checkpoint says about its model: typed, checked once, and frozen.

Knows no file format: ``engine.model.gguf_config`` and ``engine.model.hf_config`` fill it in.
"""

from dataclasses import dataclass
from typing import Literal

from engine.errors import ModelCorruptError
from engine.kv.compressed_geometry import Compression

RopeKind = Literal["linear", "dynamic", "llama3", "yarn", "longrope", "factors"]
NormPlacement = Literal["before", "after", "both"]
QKNorm = Literal["none", "head", "projection"]
Activation = Literal["silu", "gelu_tanh"]

_MAX_LAYERS = 1_024
_MAX_SIZE = 1 << 24
_MAX_CONTEXT = 1 << 28
_MAX_EXPERTS = 4_096


@dataclass(frozen=True, slots=True)
class RopeScaling:
    """How rotary frequencies are stretched past the trained context.

    Only the fields of ``kind`` matter. ``freq_factors`` ("factors": divisors of each of the
    head_dim / 2 frequencies, as GGUF stores llama3 scaling) and ``short_factors`` /
    ``long_factors`` ("longrope") have one entry a rotated pair. ``truncate`` ("yarn"): whether the
    bounds of the blend are whole pairs. ``attention_factor`` None means the kind's own default.
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
    truncate: bool = True
    attention_factor: float | None = None
    freq_factors: tuple[float, ...] = ()
    short_factors: tuple[float, ...] = ()
    long_factors: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpertConfig:
    """A mixture of experts: ``count`` in each layer, of which every token uses ``per_token``.

    ``is_normalised``: the weights of a token's experts are scaled to add up to one.
    """

    count: int
    per_token: int
    intermediate_size: int
    is_normalised: bool = True


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """The shape of a decoder-only model, and what its layers compute.

    ``max_position_embeddings`` is the trained context in tokens. ``rotary_dim`` is the number of
    leading dimensions of each head that rotate (0: all of them). ``eos_ids`` end an answer.

    What sets a family apart has the neutral value as its default. ``norms``: before attention and
    feed-forward, after them, or both. ``qk_norm``: over each head's q and k, or over all heads'.
    ``attention_scale``: of the scores (0: head_dim ** -0.5). ``attention_softcap`` c: scores s
    become c tanh(s / c) (0: as they are), ``logit_softcap`` likewise. The layers marked in
    ``sliding_layers`` see the last ``sliding_window`` tokens only, and rotate by
    ``local_rope_theta``, unscaled, if it is not 0. Those marked in ``unrotated_layers`` do not
    rotate, and those in ``dense_layers`` have one feed-forward block in place of the experts. Each is
    empty or has one mark a layer. ``compression``: what a compressed cache keeps, None for keys and
    values of each token. ``notes``: what a user should know of the checkpoint, in words.
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
    norms: NormPlacement = "before"
    qk_norm: QKNorm = "none"
    activation: Activation = "silu"
    attention_scale: float = 0.0
    attention_softcap: float = 0.0
    embedding_scale: float = 1.0
    residual_scale: float = 1.0
    logit_scale: float = 1.0
    logit_softcap: float = 0.0
    sliding_window: int = 0
    sliding_layers: tuple[bool, ...] = ()
    local_rope_theta: float = 0.0
    unrotated_layers: tuple[bool, ...] = ()
    experts: ExpertConfig | None = None
    dense_layers: tuple[bool, ...] = ()
    compression: Compression | None = None
    notes: tuple[str, ...] = ()

    def is_sliding(self, layer: int) -> bool:
        """Whether ``layer`` sees no further back than the window."""
        return bool(self.sliding_layers) and self.sliding_layers[layer]

    def is_rotated(self, layer: int) -> bool:
        """Whether ``layer`` rotates q and k by their position."""
        return not self.unrotated_layers or not self.unrotated_layers[layer]

    def has_experts(self, layer: int) -> bool:
        """Whether ``layer`` sends each token to a few of many feed-forward blocks."""
        if self.experts is None:
            return False
        return not self.dense_layers or not self.dense_layers[layer]


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
    _check_rotation(config, path)
    _check_layers(config, path)
    ids = [*config.eos_ids, *([] if config.bos_id is None else [config.bos_id])]
    for token in ids:
        if not 0 <= token < config.vocab_size:
            raise corrupt(path, f"its special token {token} is not in the vocabulary")
    return config


def _check_rotation(config: ModelConfig, path: str) -> None:
    rotary_dim = config.rotary_dim or config.head_dim
    if rotary_dim % 2 or not 0 < rotary_dim <= config.head_dim:
        raise corrupt(path, f"{rotary_dim} of {config.head_dim} dimensions a head cannot rotate")
    scaling = config.rope_scaling
    if scaling is None:
        return
    numbers = (scaling.factor, *scaling.freq_factors, *scaling.short_factors)
    if not all(0 < number < 1e9 for number in (*numbers, *scaling.long_factors)):
        raise corrupt(path, "a factor of its rope scaling is not a positive number")
    lists = {
        "factors": (scaling.freq_factors,),
        "longrope": (scaling.short_factors, scaling.long_factors),
    }
    for factors in lists.get(scaling.kind, ()):
        if len(factors) != rotary_dim // 2:
            raise corrupt(path, f"it has {len(factors)} rope factors, not {rotary_dim // 2}")
    is_relative = scaling.kind not in {"linear", "factors"}
    if is_relative and scaling.original_max_position < 2:
        raise corrupt(path, "its rope scaling does not say the original context")


def _check_layers(config: ModelConfig, path: str) -> None:
    for marks in (config.sliding_layers, config.unrotated_layers, config.dense_layers):
        if marks and len(marks) != config.num_layers:
            raise corrupt(path, f"it describes {len(marks)} layers, not {config.num_layers}")
    if any(config.sliding_layers) and not 0 < config.sliding_window <= _MAX_CONTEXT:
        raise corrupt(path, f"its sliding_window is {config.sliding_window}")
    if config.local_rope_theta < 0:
        raise corrupt(path, f"its local rope theta is {config.local_rope_theta}")
    experts = config.experts
    if experts is None:
        return
    if not 0 < experts.per_token <= experts.count <= _MAX_EXPERTS:
        raise corrupt(path, f"a token cannot use {experts.per_token} of {experts.count} experts")
    if not 0 < experts.intermediate_size <= _MAX_SIZE:
        raise corrupt(path, f"its experts have the size {experts.intermediate_size}")


def corrupt(path: str, reason: str) -> ModelCorruptError:
    """The error for a checkpoint that contradicts itself."""
    return ModelCorruptError(
        f"The model at {path} is not sound: {reason}. Download it again.",
        path=path,
        reason=reason,
    )
