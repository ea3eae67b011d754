"""GGUF files of architectures without a native decoder: what their keys and tensors mean.

For each, the settings of transformers' model class that a header gives, and which tensor of the
file makes which parameter, undoing what the format's converters do to some of them. Knows names
and arithmetic; imports no transformers, so that asking whether a file can be run costs nothing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import torch

from engine.model.fields import Fields

Undo = Callable[[torch.Tensor, "Header"], torch.Tensor]
Names = Mapping[str, str]

_NORMS = ("attn_norm", "attn_norm_2", "ffn_norm", "output_norm")
_QKV = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v"}
_LLAMA_ENDS = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
_LLAMA_LAYER = {
    **_QKV,
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
}
_FUSED_LAYER = {
    "input_layernorm": "attn_norm",
    "mlp.dense_h_to_4h": "ffn_up",
    "mlp.dense_4h_to_h": "ffn_down",
}


@dataclass(frozen=True, slots=True)
class Header:
    """The keys of one file, asked for without the architecture's name, and its tensors' names."""

    fields: Fields
    arch: str
    tensors: frozenset[str]

    def whole(self, key: str, default: int | None = None) -> int:
        """A whole number."""
        name = f"{self.arch}.{key}"
        return self.fields.whole(name) if default is None else self.fields.whole(name, default)

    def real(self, key: str, default: float | None = None) -> float:
        """A finite number."""
        return self.fields.real(f"{self.arch}.{key}", default)

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        return self.fields.flag(f"{self.arch}.{key}", default=default)

    def has(self, part: str) -> bool:
        """Whether the first layer has the tensor ``part``."""
        return f"blk.0.{part}" in self.tensors

    @property
    def heads(self) -> int:
        """Query heads."""
        return self.whole("attention.head_count")

    @property
    def kv_heads(self) -> int:
        """Key-value heads."""
        return self.whole("attention.head_count_kv", self.heads)

    @property
    def head_dim(self) -> int:
        """Values of a head."""
        usual = self.whole("embedding_length") // max(1, self.heads)
        return self.whole("attention.key_length", usual)

    def rope(self, *, is_partial: bool = False) -> dict[str, Any]:
        """The ``rope_parameters``; raises ModelUnsupportedError for scaled ones."""
        kind = self.fields.text(f"{self.arch}.rope.scaling.type", "none")
        if kind != "none":
            raise self.fields.unsupported(f"the rope scaling {kind[:40]!a} in {self.arch}")
        section: dict[str, Any] = {
            "rope_type": "default",
            "rope_theta": self.real("rope.freq_base", 10_000.0),
        }
        if is_partial:
            rotated = self.whole("rope.dimension_count", self.head_dim)
            section["partial_rotary_factor"] = rotated / max(1, self.head_dim)
        return section


def _nothing(header: Header) -> dict[str, Any]:
    del header
    return {}


@dataclass(frozen=True, slots=True)
class GgufFamily:
    """One architecture.

    ``ends`` and ``layer``: module of transformers' model -> what the file calls it (a weight, and a
    bias if it has one). ``layers``: where the layers are. ``undo``: by the file's name for a tensor
    (with ``.weight`` or ``.bias`` for one of the two), how to get back what was converted.
    """

    model_type: str
    ends: Names
    layer: Names
    layers: str = "model.layers."
    settings: Callable[[Header], dict[str, Any]] = _nothing
    undo: Mapping[str, Undo] = field(default_factory=lambda: MappingProxyType({}))

    def file_name(self, parameter: str) -> str | None:
        """What the file calls the parameter of transformers' model; None for what it has not."""
        module, _, last = parameter.rpartition(".")
        if not module.startswith(self.layers):
            stem = self.ends.get(module)
            return None if stem is None else f"{stem}.{last}"
        index, _, part = module.removeprefix(self.layers).partition(".")
        stem = self.layer.get(part)
        return None if stem is None else f"blk.{index}.{stem}.{last}"

    def undone(self, name: str) -> Undo | None:
        """What was done to the tensor ``name`` of the file; None if nothing was."""
        stem = name.split(".", 2)[2] if name.startswith("blk.") else name
        return self.undo.get(stem) or self.undo.get(stem.rpartition(".")[0])


# ---------------------------------------------------------------------- what converters do


def _transposed(values: torch.Tensor, header: Header) -> torch.Tensor:
    del header
    return values.t().contiguous()


def _less_one(values: torch.Tensor, header: Header) -> torch.Tensor:
    del header
    return values - 1.0


def _by_head(values: torch.Tensor, header: Header) -> torch.Tensor:
    """All q, all k, all v -> q, k and v of each head in turn."""
    rows = values.view(3, header.heads, -1, *values.shape[1:])
    return rows.transpose(0, 1).reshape(values.shape)


def _by_group(values: torch.Tensor, header: Header) -> torch.Tensor:
    """All q, all k, all v -> for each key-value head, its queries, its key and its value."""
    size, groups = header.head_dim, header.kv_heads
    q, k, v = torch.split(values, [header.heads * size, groups * size, groups * size])
    parts = [part.view(groups, -1, *values.shape[1:]) for part in (q, k, v)]
    return torch.cat(parts, 1).reshape(values.shape)


# ---------------------------------------------------------------------- the architectures


def _gpt2(header: Header) -> dict[str, Any]:
    return {
        "n_inner": header.whole("feed_forward_length"),
        "layer_norm_epsilon": header.real("attention.layer_norm_epsilon"),
    }


def _starcoder2(header: Header) -> dict[str, Any]:
    return {
        "norm_epsilon": header.real("attention.layer_norm_epsilon"),
        "use_bias": header.has("attn_q.bias"),
        "sliding_window": None,
        "rope_parameters": header.rope(),
    }


def _stablelm(header: Header) -> dict[str, Any]:
    if header.has("attn_q_norm.weight"):
        raise header.fields.unsupported("norms of q and k in stablelm")
    return {
        "layer_norm_eps": header.real("attention.layer_norm_epsilon"),
        "use_qkv_bias": header.has("attn_q.bias"),
        "use_parallel_residual": header.flag("use_parallel_residual", default=False),
        "rope_parameters": header.rope(is_partial=True),
    }


def _falcon(header: Header) -> dict[str, Any]:
    is_new = header.has("attn_norm_2.weight")
    return {
        "ffn_hidden_size": header.whole("feed_forward_length"),
        "layer_norm_epsilon": header.real("attention.layer_norm_epsilon"),
        "num_kv_heads": header.kv_heads,
        "multi_query": header.kv_heads == 1,
        "new_decoder_architecture": is_new,
        "num_ln_in_parallel_attn": 2 if is_new else 1,
        "parallel_attn": True,
        "bias": False,
        "alibi": False,
        "rope_parameters": header.rope(),
    }


def _phi(header: Header) -> dict[str, Any]:
    return {
        "layer_norm_eps": header.real("attention.layer_norm_epsilon"),
        "rope_parameters": header.rope(is_partial=True),
    }


def _cohere(header: Header) -> dict[str, Any]:
    return {
        "layer_norm_eps": header.real("attention.layer_norm_epsilon"),
        "logit_scale": header.real("logit_scale"),
        "use_qk_norm": header.has("attn_q_norm.weight"),
        "rope_parameters": header.rope(),
    }


def _gpt_neox(header: Header) -> dict[str, Any]:
    return {
        "layer_norm_eps": header.real("attention.layer_norm_epsilon"),
        "use_parallel_residual": header.flag("use_parallel_residual", default=True),
        "rope_parameters": header.rope(is_partial=True),
    }


def _bloom(header: Header) -> dict[str, Any]:
    return {"layer_norm_epsilon": header.real("attention.layer_norm_epsilon")}


def _nemotron(header: Header) -> dict[str, Any]:
    return {
        "norm_eps": header.real("attention.layer_norm_epsilon"),
        "rope_parameters": header.rope(is_partial=True),
    }


def _gemma(header: Header) -> dict[str, Any]:
    return {
        "rms_norm_eps": header.real("attention.layer_norm_rms_epsilon"),
        "head_dim": header.head_dim,
        "hidden_activation": "gelu_pytorch_tanh",
        "rope_parameters": header.rope(),
    }


_GEMMA_NORMS = MappingProxyType({f"{norm}.weight": _less_one for norm in _NORMS})
_CONV1D = ("attn_qkv.weight", "attn_output.weight", "ffn_up.weight", "ffn_down.weight")
FAMILIES: Mapping[str, GgufFamily] = MappingProxyType(
    {
        "gpt2": GgufFamily(
            "gpt2",
            {
                "transformer.wte": "token_embd",
                "transformer.wpe": "position_embd",
                "transformer.ln_f": "output_norm",
                "lm_head": "output",
            },
            {
                "ln_1": "attn_norm",
                "attn.c_attn": "attn_qkv",
                "attn.c_proj": "attn_output",
                "ln_2": "ffn_norm",
                "mlp.c_fc": "ffn_up",
                "mlp.c_proj": "ffn_down",
            },
            layers="transformer.h.",
            settings=_gpt2,
            undo=MappingProxyType(dict.fromkeys(_CONV1D, _transposed)),
        ),
        "starcoder2": GgufFamily(
            "starcoder2",
            _LLAMA_ENDS,
            {**_LLAMA_LAYER, "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"},
            settings=_starcoder2,
        ),
        "stablelm": GgufFamily("stablelm", _LLAMA_ENDS, _LLAMA_LAYER, settings=_stablelm),
        "falcon": GgufFamily(
            "falcon",
            {
                "transformer.word_embeddings": "token_embd",
                "transformer.ln_f": "output_norm",
                "lm_head": "output",
            },
            {
                **_FUSED_LAYER,
                "self_attention.query_key_value": "attn_qkv",
                "self_attention.dense": "attn_output",
                "ln_mlp": "attn_norm",
                "ln_attn": "attn_norm_2",
            },
            layers="transformer.h.",
            settings=_falcon,
            undo=MappingProxyType({"attn_qkv": _by_group}),
        ),
        "phi2": GgufFamily(
            "phi",
            {**_LLAMA_ENDS, "model.final_layernorm": "output_norm"},
            {
                **_QKV,
                "self_attn.dense": "attn_output",
                "mlp.fc1": "ffn_up",
                "mlp.fc2": "ffn_down",
                "input_layernorm": "attn_norm",
            },
            settings=_phi,
        ),
        "command-r": GgufFamily(
            "cohere",
            _LLAMA_ENDS,
            {
                **_LLAMA_LAYER,
                "self_attn.q_norm": "attn_q_norm",
                "self_attn.k_norm": "attn_k_norm",
            },
            settings=_cohere,
        ),
        "gptneox": GgufFamily(
            "gpt_neox",
            {
                "gpt_neox.embed_in": "token_embd",
                "gpt_neox.final_layer_norm": "output_norm",
                "lm_head": "output",
            },
            {
                **_FUSED_LAYER,
                "post_attention_layernorm": "ffn_norm",
                "attention.query_key_value": "attn_qkv",
                "attention.dense": "attn_output",
            },
            layers="gpt_neox.layers.",
            settings=_gpt_neox,
            undo=MappingProxyType({"attn_qkv": _by_head}),
        ),
        "bloom": GgufFamily(
            "bloom",
            {
                "transformer.word_embeddings": "token_embd",
                "transformer.word_embeddings_layernorm": "token_embd_norm",
                "transformer.ln_f": "output_norm",
                "lm_head": "output",
            },
            {
                **_FUSED_LAYER,
                "post_attention_layernorm": "ffn_norm",
                "self_attention.query_key_value": "attn_qkv",
                "self_attention.dense": "attn_output",
            },
            layers="transformer.h.",
            settings=_bloom,
            undo=MappingProxyType({"attn_qkv": _by_head}),
        ),
        "nemotron": GgufFamily(
            "nemotron", _LLAMA_ENDS, _LLAMA_LAYER, settings=_nemotron, undo=_GEMMA_NORMS
        ),
        "gemma": GgufFamily(
            "gemma", _LLAMA_ENDS, _LLAMA_LAYER, settings=_gemma, undo=_GEMMA_NORMS
        ),
    }
)


def settings_of(family: GgufFamily, header: Header, vocab_size: int) -> dict[str, Any]:
    """The contents config.json would have."""
    return {
        "model_type": family.model_type,
        "vocab_size": vocab_size,
        "hidden_size": header.whole("embedding_length"),
        "intermediate_size": header.whole("feed_forward_length", 1),
        "num_hidden_layers": header.whole("block_count"),
        "num_attention_heads": header.heads,
        "num_key_value_heads": header.kv_heads,
        "max_position_embeddings": header.whole("context_length"),
        "tie_word_embeddings": "output.weight" not in header.tensors,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": None,
        **family.settings(header),
    }
