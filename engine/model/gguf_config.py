"""A ModelConfig from GGUF metadata."""

from collections.abc import Mapping

import torch

from engine.model.config import ModelConfig, RopeScaling, check_config
from engine.model.fields import Fields
from engine.model.gguf_split import GgufTensors
from engine.quant.ggml import can_decode, decode_vector

ARCHITECTURES = frozenset({"llama"})
_ROPE_FACTORS = "rope_freqs.weight"


def read_gguf_config(file: GgufTensors) -> ModelConfig:
    """Read and check the model's shape.

    Raises ModelUnsupportedError (an architecture we do not run) or ModelCorruptError (a value is
    missing, of the wrong type, or impossible).
    """
    fields = Fields(file.metadata, str(file.path))
    arch = fields.text("general.architecture")
    if arch not in ARCHITECTURES:
        raise fields.unsupported(f"the architecture {arch[:40]!a}")
    if fields.whole(f"{arch}.expert_count", 0) > 0:
        raise fields.unsupported("a mixture of experts")
    num_heads = fields.whole(f"{arch}.attention.head_count")
    hidden = fields.whole(f"{arch}.embedding_length")
    head_dim = fields.whole(f"{arch}.attention.key_length", hidden // max(1, num_heads))
    rotary_dim = fields.whole(f"{arch}.rope.dimension_count", head_dim)
    tensors = file.tensors
    config = ModelConfig(
        model_type=arch,
        name=fields.text("general.name", file.path.stem),
        vocab_size=_vocab_size(file, fields, arch),
        hidden_size=hidden,
        intermediate_size=fields.whole(f"{arch}.feed_forward_length"),
        num_layers=fields.whole(f"{arch}.block_count"),
        num_heads=num_heads,
        num_kv_heads=fields.whole(f"{arch}.attention.head_count_kv", num_heads),
        head_dim=head_dim,
        rms_norm_eps=fields.real(f"{arch}.attention.layer_norm_rms_epsilon"),
        rope_theta=fields.real(f"{arch}.rope.freq_base", 10_000.0),
        max_position_embeddings=fields.whole(f"{arch}.context_length"),
        rotary_dim=rotary_dim,
        rope_scaling=_rope_scaling(file, fields, arch),
        tie_word_embeddings="output.weight" not in tensors,
        attention_bias="blk.0.attn_q.bias" in tensors,
        license=fields.text("general.license", ""),
        bos_id=next(iter(fields.ids("tokenizer.ggml.bos_token_id")), None),
        eos_ids=_eos_ids(fields),
    )
    check_config(config, str(file.path))
    if rotary_dim != head_dim:
        raise fields.unsupported(f"rotation of {rotary_dim} of {head_dim} dimensions a head")
    return config


def _vocab_size(file: GgufTensors, fields: Fields, arch: str) -> int:
    embedding = file.tensors.get("token_embd.weight")
    rows = embedding.shape[0] if embedding else 0
    return fields.whole(f"{arch}.vocab_size", rows)


def _eos_ids(fields: Fields) -> tuple[int, ...]:
    """End of text, of turn and of message, each once."""
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    ids = [token for key in keys for token in fields.ids(f"tokenizer.ggml.{key}")]
    return tuple(dict.fromkeys(ids))


def _rope_scaling(file: GgufTensors, fields: Fields, arch: str) -> RopeScaling | None:
    factors = file.tensors.get(_ROPE_FACTORS)
    if factors is not None:
        if not can_decode(factors.type):
            raise fields.unsupported(f"{factors.type.name} tensors")
        values = decode_vector(file.raw(_ROPE_FACTORS), factors.type)
        return RopeScaling("factors", freq_factors=_positive(values, fields))
    kind = fields.text(f"{arch}.rope.scaling.type", "none")
    factor = fields.real(f"{arch}.rope.scaling.factor", 1.0)
    original = fields.whole(f"{arch}.rope.scaling.original_context_length", 0)
    match kind:
        case "none":
            return None
        case "linear":
            return RopeScaling("linear", factor=factor)
        case "yarn":
            return RopeScaling("yarn", factor=factor, original_max_position=original)
        case _:
            raise fields.unsupported(f"the rope scaling {kind[:40]!a}")


def _positive(factors: torch.Tensor, fields: Fields) -> tuple[float, ...]:
    values: list[float] = factors.tolist()
    if not all(0 < value < 1e9 for value in values):
        raise fields.unsupported("rope factors that are not positive numbers")
    return tuple(values)


def gguf_names(num_layers: int) -> Mapping[str, str]:
    """Canonical parameter name -> tensor name in the file."""
    names = {
        "embed": "token_embd.weight",
        "norm": "output_norm.weight",
        "head": "output.weight",
    }
    parts = {
        "attention_norm": "attn_norm.weight",
        "q": "attn_q.weight",
        "k": "attn_k.weight",
        "v": "attn_v.weight",
        "o": "attn_output.weight",
        "ffn_norm": "ffn_norm.weight",
        "gate": "ffn_gate.weight",
        "up": "ffn_up.weight",
        "down": "ffn_down.weight",
        "q_bias": "attn_q.bias",
        "k_bias": "attn_k.bias",
        "v_bias": "attn_v.bias",
        "o_bias": "attn_output.bias",
        "gate_bias": "ffn_gate.bias",
        "up_bias": "ffn_up.bias",
        "down_bias": "ffn_down.bias",
    }
    for index in range(num_layers):
        for canonical, stored in parts.items():
            names[f"layers.{index}.{canonical}"] = f"blk.{index}.{stored}"
    return names
