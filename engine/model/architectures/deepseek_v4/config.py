"""What config.json says of a DeepSeek-V4, by the published keys or by those of transformers.

Both name the same things: ``compress_ratios`` (0, 4, 128 a layer) or ``layer_types``,
``num_hash_layers`` or ``mlp_layer_types``, ``rope_theta`` with ``rope_scaling`` and
``compress_rope_theta`` or a table of two in ``rope_parameters``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Literal

from engine.errors import ModelMissingError
from engine.kv.compressed_geometry import Compression
from engine.model.config import ExpertConfig, ModelConfig, RopeScaling, check_config, corrupt
from engine.model.fields import Fields
from engine.model.safetensors import read_json

MODEL_TYPE = "deepseek_v4"
_MAX_CONFIG_BYTES = 10_000_000
_MAX_SIZE = 1 << 20
_MAX_STEPS = 1_000
_CSA_STRIDE, _HCA_STRIDE = 4, 128
_BETA_FAST, _BETA_SLOW = 32.0, 1.0
_HASH_LAYERS = 3

Score = Literal["sqrtsoftplus", "sigmoid"]
_SCORES: Mapping[str, Score] = {
    "sqrtsoftplus": "sqrtsoftplus",
    "sigmoid": "sigmoid",
}


class Kind(Enum):
    """What a layer attends to beside its window."""

    SLIDING = "sliding_attention"
    CSA = "compressed_sparse_attention"
    HCA = "heavily_compressed_attention"


@dataclass(frozen=True, slots=True)
class V4Config:
    """The shape of a DeepSeek-V4, what ``base`` does not hold of it.

    ``kinds``: one a layer. ``is_hashed``: layers whose experts follow from the token alone.
    ``rotary_dim``: trailing dimensions of a head, and of an indexer's head, that rotate; by
    ``base.rope_theta`` and ``base.rope_scaling`` in sliding layers, by ``compress_theta`` and
    ``compress_scaling`` in the others. ``streams`` of the residual are mixed by matrices made
    doubly stochastic in ``mix_steps`` steps with ``mix_eps``. ``clamp``: limit of what enters the
    experts' gates. ``groups`` of heads are projected to ``group_rank`` values each.
    """

    base: ModelConfig
    kinds: tuple[Kind, ...]
    is_hashed: tuple[bool, ...]
    q_rank: int
    groups: int
    group_rank: int
    compress_theta: float
    compress_scaling: RopeScaling | None
    streams: int
    mix_steps: int
    mix_eps: float
    score: Score
    routed_scale: float
    clamp: float

    @property
    def rotary_dim(self) -> int:
        """Trailing dimensions of a head that rotate."""
        return self.base.rotary_dim

    @property
    def compression(self) -> Compression:
        """What the layers keep of the past."""
        compression = self.base.compression
        assert compression is not None, "it was read with the rest"
        return compression

    @property
    def experts(self) -> ExpertConfig:
        """The routed experts of every layer; a shared one of the same size comes on top."""
        experts = self.base.experts
        assert experts is not None, "every layer has experts"
        return experts


def read_v4_config(folder: Path) -> V4Config:
    """Read and check config.json.

    Raises ModelMissingError (there is none), ModelUnsupportedError (a variant we do not run) or
    ModelCorruptError (a value is missing or impossible).
    """
    if not (folder / "config.json").is_file():
        raise ModelMissingError(f"There is no config.json in {folder}.", path=str(folder))
    fields = Fields(read_json(folder / "config.json", _MAX_CONFIG_BYTES), str(folder))
    return describe(fields, folder.resolve().name)


def is_v4(folder: Path) -> bool:
    """Whether the folder's config.json is of such a model; False where there is none."""
    path = folder / "config.json"
    return path.is_file() and read_json(path, _MAX_CONFIG_BYTES).get("model_type") == MODEL_TYPE


def describe(fields: Fields, name: str) -> V4Config:
    """The checked configuration of the keys in ``fields``."""
    _refuse(fields)
    base = check_config(_base(fields, name), fields.path)
    kinds = _kinds(fields, base.num_layers)
    base = replace(base, compression=_compression(fields, kinds))
    compress = _rope(fields, "compress")
    config = V4Config(
        base=base,
        kinds=kinds,
        is_hashed=_hashed(fields, base.num_layers),
        q_rank=_size(fields, "q_lora_rank"),
        groups=_size(fields, "o_groups", 8),
        group_rank=_size(fields, "o_lora_rank"),
        compress_theta=_theta(compress, fields.real("compress_rope_theta", 160_000.0)),
        # in the published form there is one section, and it is about these layers
        compress_scaling=_scaling(fields, compress or _flat_rope(fields)),
        streams=_size(fields, "hc_mult", 4),
        mix_steps=_size(fields, "hc_sinkhorn_iters", 20),
        mix_eps=fields.real("hc_eps", 1e-6),
        score=_score(fields),
        routed_scale=fields.real("routed_scaling_factor", 1.5),
        clamp=fields.real("swiglu_limit", 10.0),
    )
    _check(config, fields.path)
    return config


def _base(fields: Fields, name: str) -> ModelConfig:
    head_dim = fields.whole("head_dim", 512)
    inner = fields.whole("moe_intermediate_size")
    main = _rope(fields, "main")
    rotated = fields.real("partial_rotary_factor", 64 / 512)
    return ModelConfig(
        model_type=MODEL_TYPE,
        name=name,
        vocab_size=fields.whole("vocab_size"),
        hidden_size=fields.whole("hidden_size"),
        intermediate_size=inner,
        num_layers=fields.whole("num_hidden_layers"),
        num_heads=fields.whole("num_attention_heads"),
        num_kv_heads=fields.whole("num_key_value_heads", 1),
        head_dim=head_dim,
        rms_norm_eps=fields.real("rms_norm_eps", 1e-6),
        rope_theta=_theta(main, fields.real("rope_theta", 10_000.0)),
        max_position_embeddings=fields.whole("max_position_embeddings"),
        rotary_dim=fields.whole("qk_rope_head_dim", int(head_dim * rotated)),
        rope_scaling=_scaling(fields, main),
        tie_word_embeddings=fields.flag("tie_word_embeddings", default=False),
        bos_id=next(iter(fields.ids("bos_token_id")), None),
        eos_ids=fields.ids("eos_token_id"),
        experts=ExpertConfig(
            count=fields.whole("n_routed_experts"),
            per_token=fields.whole("num_experts_per_tok"),
            intermediate_size=inner,
        ),
    )


def _refuse(fields: Fields) -> None:
    """Variants that the paper does not describe and no checkpoint has."""
    if fields.whole("num_key_value_heads", 1) != 1:
        raise fields.unsupported("several key-value heads under compressed attention")
    if fields.whole("n_shared_experts", 1) != 1:
        raise fields.unsupported("more or fewer shared experts than one")
    if not fields.flag("norm_topk_prob", default=True):
        raise fields.unsupported("experts whose weights do not add up to one")
    if fields.text("hidden_act", "silu") != "silu":
        raise fields.unsupported(f"the activation {fields.text('hidden_act')[:40]!a}")
    for key in ("attention_bias", "mlp_bias"):
        if fields.flag(key, default=False):
            raise fields.unsupported(f"biases ({key}) in a {MODEL_TYPE}")


def _kinds(fields: Fields, num_layers: int) -> tuple[Kind, ...]:
    names = fields.texts("layer_types")
    if not names:
        strides = {0: Kind.SLIDING, 1: Kind.SLIDING, _CSA_STRIDE: Kind.CSA, _HCA_STRIDE: Kind.HCA}
        ratios = fields.ids("compress_ratios")
        unknown = [ratio for ratio in ratios if ratio not in strides]
        if unknown:
            raise fields.unsupported(f"layers compressed by {unknown[0]}")
        names = tuple(strides[ratio].value for ratio in ratios)
    if len(names) < num_layers:
        raise corrupt(fields.path, f"it describes {len(names)} layers, not {num_layers}")
    known = {kind.value: kind for kind in Kind}
    for name in names[:num_layers]:
        if name not in known:
            raise fields.unsupported(f"layers of the kind {name[:40]!a}")
    return tuple(known[name] for name in names[:num_layers])


def _hashed(fields: Fields, num_layers: int) -> tuple[bool, ...]:
    names = fields.texts("mlp_layer_types")
    if not names:
        count = fields.whole("num_hash_layers", _HASH_LAYERS)
        return tuple(layer < count for layer in range(num_layers))
    unknown = set(names) - {"moe", "hash_moe"}
    if unknown:
        raise fields.unsupported(f"feed-forward blocks of the kind {min(unknown)[:40]!a}")
    if len(names) < num_layers:
        raise corrupt(fields.path, f"it describes {len(names)} layers, not {num_layers}")
    return tuple(name == "hash_moe" for name in names[:num_layers])


def _compression(fields: Fields, kinds: Sequence[Kind]) -> Compression:
    rates = fields.section("compress_rates") or Fields({}, fields.path)
    return Compression(
        csa_layers=kinds.count(Kind.CSA),
        hca_layers=kinds.count(Kind.HCA),
        csa_stride=_size(rates, Kind.CSA.value, _CSA_STRIDE),
        hca_stride=_size(rates, Kind.HCA.value, _HCA_STRIDE),
        index_dim=_size(fields, "index_head_dim"),
        index_heads=_size(fields, "index_n_heads"),
        index_top=_size(fields, "index_topk"),
        window=_size(fields, "sliding_window", 128),
    )


def _rope(fields: Fields, name: str) -> Fields | None:
    """The section of one set of frequencies, in the form of transformers."""
    both = fields.section("rope_parameters")
    return both.section(name) if both is not None and name in both else None


def _flat_rope(fields: Fields) -> Fields | None:
    flat = fields.section("rope_parameters") or fields.section("rope_scaling")
    return None if flat is None or "main" in flat else flat


def _theta(rope: Fields | None, usual: float) -> float:
    return usual if rope is None else rope.real("rope_theta", usual)


def _scaling(fields: Fields, rope: Fields | None) -> RopeScaling | None:
    if rope is None:
        return None
    kind = rope.text("rope_type", rope.text("type", "default"))
    if kind == "default":
        return None
    if kind != "yarn":
        raise fields.unsupported(f"the rope scaling {kind[:40]!a} in a {MODEL_TYPE}")
    return RopeScaling(
        "yarn",
        factor=rope.real("factor"),
        original_max_position=rope.whole("original_max_position_embeddings"),
        beta_fast=rope.real("beta_fast", _BETA_FAST),
        beta_slow=rope.real("beta_slow", _BETA_SLOW),
        truncate=rope.flag("truncate", default=True),
        # the model was trained without the factor that yarn gives cosines and sines elsewhere
        attention_factor=rope.real("attention_factor", 1.0),
    )


def _score(fields: Fields) -> Score:
    name = fields.text("scoring_func", "sqrtsoftplus")
    if name not in _SCORES:
        raise fields.unsupported(f"experts scored by {name[:40]!a}")
    return _SCORES[name]


def _size(fields: Fields, key: str, default: int | None = None) -> int:
    value = fields.whole(key) if default is None else fields.whole(key, default)
    if not 0 < value <= _MAX_SIZE:
        raise corrupt(fields.path, f"its {key} is {value}")
    return value


def _check(config: V4Config, path: str) -> None:
    """That the parts fit each other."""
    base, shape = config.base, config.compression
    if base.num_heads % config.groups:
        raise corrupt(path, f"{base.num_heads} heads do not divide into {config.groups} groups")
    if not 0 < config.rotary_dim <= min(base.head_dim, shape.index_dim):
        raise corrupt(path, f"{config.rotary_dim} dimensions cannot rotate in every head")
    if shape.index_dim % 2:
        raise corrupt(path, f"its index_head_dim is {shape.index_dim}")
    if config.mix_steps > _MAX_STEPS or config.streams > _MAX_STEPS:
        raise corrupt(path, "its hyper-connections have no sensible size")
    if config.clamp <= 0 or config.mix_eps < 0 or config.compress_theta <= 0:
        raise corrupt(path, "a limit of its layers is not positive")
    scales = [s for s in (base.rope_scaling, config.compress_scaling) if s is not None]
    if any(s.factor <= 0 or s.original_max_position < 2 for s in scales):
        raise corrupt(path, "its rope scaling has no positive factor or no original context")
