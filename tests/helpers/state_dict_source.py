"""A WeightSource over a transformers state dict, so that decoders are tested without files."""

from collections.abc import Mapping

import torch

from engine.model.config import ModelConfig
from engine.quant.layout import DenseWeight, Weight

_NAMES = {
    "embed": "model.embed_tokens.weight",
    "norm": "model.norm.weight",
    "head": "lm_head.weight",
}
_LAYER_NAMES = {
    "attention_norm": "input_layernorm.weight",
    "ffn_norm": "post_attention_layernorm.weight",
    **{p: f"self_attn.{p}_proj.weight" for p in "qkvo"},
    **{f"{p}_bias": f"self_attn.{p}_proj.bias" for p in "qkvo"},
    **{p: f"mlp.{p}_proj.weight" for p in ("gate", "up", "down")},
    **{f"{p}_bias": f"mlp.{p}_proj.bias" for p in ("gate", "up", "down")},
}


class StateDictSource:
    """Dense weights by canonical name."""

    def __init__(self, config: ModelConfig, tensors: Mapping[str, torch.Tensor]) -> None:
        self.config = config
        self._tensors = {name: tensor.detach().float() for name, tensor in tensors.items()}
        if config.tie_word_embeddings:
            self._tensors.pop("lm_head.weight", None)

    def has(self, name: str) -> bool:
        return _file_name(name) in self._tensors

    def weight(self, name: str) -> Weight:
        return DenseWeight(self._tensors[_file_name(name)])

    def vector(self, name: str) -> torch.Tensor:
        return self._tensors[_file_name(name)]


def _file_name(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    _, index, part = name.split(".")
    return f"model.layers.{index}.{_LAYER_NAMES[part]}"


def random_state_dict(config: ModelConfig, seed: int = 0) -> dict[str, torch.Tensor]:
    """Small random Llama weights, with every bias that ``config`` asks for."""
    draw = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, generator=draw) * 0.1

    hidden, ffn = config.hidden_size, config.intermediate_size
    q_rows, kv_rows = config.num_heads * config.head_dim, config.num_kv_heads * config.head_dim
    matrices = {
        "q": (q_rows, hidden),
        "k": (kv_rows, hidden),
        "v": (kv_rows, hidden),
        "o": (hidden, q_rows),
        "gate": (ffn, hidden),
        "up": (ffn, hidden),
        "down": (hidden, ffn),
    }
    tensors = {
        _NAMES["embed"]: normal(config.vocab_size, hidden),
        _NAMES["norm"]: 1 + normal(hidden),
    }
    if not config.tie_word_embeddings:
        tensors[_NAMES["head"]] = normal(config.vocab_size, hidden)
    for layer in range(config.num_layers):
        at = f"layers.{layer}."
        for norm in ("attention_norm", "ffn_norm"):
            tensors[_file_name(at + norm)] = 1 + normal(hidden)
        for name, shape in matrices.items():
            tensors[_file_name(at + name)] = normal(*shape)
            biased = config.mlp_bias if name in {"gate", "up", "down"} else config.attention_bias
            if biased:
                tensors[_file_name(f"{at}{name}_bias")] = normal(shape[0])
    return tensors
