"""What a family of models adds to a plain decoder, in one declaration.

A family turns what a header says into the fields of ModelConfig and names its tensors. It reads
the keys of config.json; a GGUF header answers to the same keys (``engine.model.gguf_config``).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from engine.model.config import ExpertConfig, ModelConfig
from engine.model.fields import Fields


def _no_names() -> Mapping[str, str]:
    return MappingProxyType({})


def as_read(config: ModelConfig, fields: Fields) -> ModelConfig:
    """Add nothing: the family is a plain decoder."""
    del fields
    return config


@dataclass(frozen=True, slots=True)
class Family:
    """One architecture.

    ``model_types``: in config.json, our own name for it first. ``gguf``: its general.architecture, if it has one of its own.
    ``describe``: adds what the layers compute to a config that holds the sizes. ``hf_names`` and
    ``gguf_names``: tensors of a layer that the family calls differently, by canonical name;
    ``{e}`` stands for the expert. ``is_interleaved``: GGUF files keep the two rows of a rotated
    pair of q and k side by side. ``hf_norms_add_one``: safetensors files keep norm weights less 1.
    ``default_theta`` and ``is_tied``: what config.json may leave out.
    """

    model_types: tuple[str, ...]
    gguf: str | None
    describe: Callable[[ModelConfig, Fields], ModelConfig] = as_read
    hf_names: Mapping[str, str] = field(default_factory=_no_names)
    gguf_names: Mapping[str, str] = field(default_factory=_no_names)
    is_interleaved: bool = False
    hf_norms_add_one: bool = False
    default_theta: float = 10_000.0
    is_tied: bool = False

    @property
    def model_type(self) -> str:
        """The name of the family."""
        return self.model_types[0]


def with_window(
    config: ModelConfig, fields: Fields, is_sliding: Callable[[int], bool]
) -> ModelConfig:
    """Add the sliding window, on the layers config.json marks, else where ``is_sliding(layer)``.

    A window that no context outgrows is none.
    """
    window = fields.whole("sliding_window", 0)
    kinds = fields.texts("layer_types")
    unknown = set(kinds) - {"full_attention", "sliding_attention"}
    if unknown:
        raise fields.unsupported(f"layers of the kind {min(unknown)[:40]!a}")
    layers: Sequence[bool] = [kind == "sliding_attention" for kind in kinds]
    layers = layers or [is_sliding(layer) for layer in range(config.num_layers)]
    if window >= config.max_position_embeddings or window == 0 or not any(layers):
        return config
    return replace(config, sliding_window=window, sliding_layers=tuple(layers))


def every_layer(layer: int) -> bool:
    """All layers slide."""
    del layer
    return True


def with_experts(config: ModelConfig, fields: Fields, size: int, *, normal: bool) -> ModelConfig:
    """Add a mixture of experts of ``size``; ``normal``: their weights add up to one."""
    count_key = "num_local_experts" if "num_local_experts" in fields else "num_experts"
    experts = ExpertConfig(
        count=fields.whole(count_key),
        per_token=fields.whole("num_experts_per_tok"),
        intermediate_size=size,
        is_normalised=normal,
    )
    return replace(config, experts=experts)


def layer_names(config: ModelConfig, parts: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Names of all layers' parameters, from those of one.

    ``{i}`` in ``prefix`` stands for the layer, ``{e}`` in a part for the expert.
    """
    count = config.experts.count if config.experts else 0
    names: dict[str, str] = {}
    for canonical, stored in parts.items():
        if "{e}" in canonical:
            names |= {
                canonical.replace("{e}", str(expert)): stored.replace("{e}", str(expert))
                for expert in range(count)
            }
        else:
            names[canonical] = stored
    return {
        f"layers.{layer}.{canonical}": prefix.replace("{i}", str(layer)) + stored
        for layer in range(config.num_layers)
        for canonical, stored in names.items()
    }
