"""A folder of safetensors files as the parameters of a DeepSeek-V4.

Canonical names: ``embed``, ``norm``, ``head`` (absent when tied), ``collapse.matrix`` / ``.base`` /
``.scales``, and for each layer i ``layers.{i}.`` with ``q_a q_b kv o_a o_b q_norm kv_norm sinks``,
``attention_norm ffn_norm``, ``attention_streams.*`` and ``ffn_streams.*`` as ``collapse.*``,
``router router_bias router_table``, ``shared.*`` and ``experts.{e}.*`` with ``gate up down``; where
it compresses, ``pool.*`` and (CSA) ``index.*`` with ``values gates bias norm``, ``index.queries``
and ``index.weights``. Files use the published names, with or without "model." in front.

Matrices are floats, or e4m3 or e2m1 (two a byte) with a power of two or a float32 for each block;
all of them are decoded to floats here.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import torch
from typing_extensions import override

from engine.model.architectures.deepseek_v4.blocks import decode_blocks
from engine.model.architectures.deepseek_v4.config import Kind, V4Config, read_v4_config
from engine.model.checkpoint_files import CheckpointFiles
from engine.model.config import corrupt
from engine.model.fields import Fields
from engine.model.safetensors import SafetensorsFile, StoredTensor, open_folder, read_json
from engine.model.source import Shape, check_finite_tensor
from engine.quant.layout import DenseWeight, Weight
from engine.quant.stored import Stored, stored_floats

_MAX_CONFIG_BYTES = 10_000_000
_PACKED = frozenset({"I8", "U8"})  # two values a byte
_NARROW = frozenset({"F8_E4M3"}) | _PACKED
_STREAMS = {"matrix": "fn", "base": "base", "scales": "scale"}
_MLP = {"gate": "w1", "down": "w2", "up": "w3"}
_LAYER = {
    "q_a": "attn.wq_a.weight",
    "q_b": "attn.wq_b.weight",
    "kv": "attn.wkv.weight",
    "o_a": "attn.wo_a.weight",
    "o_b": "attn.wo_b.weight",
    "q_norm": "attn.q_norm.weight",
    "kv_norm": "attn.norm.weight",
    "sinks": "attn.attn_sink",
    "attention_norm": "attn_norm.weight",
    "ffn_norm": "ffn_norm.weight",
    "router": "ffn.gate.weight",
    "router_bias": "ffn.gate.bias",
    "router_table": "ffn.gate.tid2eid",
    "pool.values": "attn.compressor.wkv.weight",
    "pool.gates": "attn.compressor.wgate.weight",
    "pool.bias": "attn.compressor.ape",
    "pool.norm": "attn.compressor.norm.weight",
    "index.values": "attn.indexer.compressor.wkv.weight",
    "index.gates": "attn.indexer.compressor.wgate.weight",
    "index.bias": "attn.indexer.compressor.ape",
    "index.norm": "attn.indexer.compressor.norm.weight",
    "index.queries": "attn.indexer.wq_b.weight",
    "index.weights": "attn.indexer.weights_proj.weight",
}
_KV_NORMS = {"kv_norm": ("attn.kv_norm.weight",)}
_ENDS = {
    "embed": ("embed.weight", "model.embed_tokens.weight", "model.embed.weight"),
    "norm": ("norm.weight", "model.norm.weight"),
    "head": ("head.weight", "lm_head.weight"),
    **{
        f"collapse.{ours}": (
            f"hc_head_{theirs}",
            f"model.hc_head_{theirs}",
            f"model.hc_head.hc_{theirs}",
        )
        for ours, theirs in _STREAMS.items()
    },
}


class V4Weights(Protocol):
    """Where a decoder's weights come from; ``folder`` is for errors."""

    v4: V4Config
    folder: Path

    def has(self, name: str) -> bool:
        """Whether there is a parameter called ``name``."""
        ...

    def weight(self, name: str) -> Weight:
        """A matrix [N, K]."""
        ...

    def values(self, name: str) -> torch.Tensor:
        """A small tensor of any shape, float32."""
        ...

    def table(self, name: str) -> torch.Tensor:
        """A table of whole numbers, int64."""
        ...


class V4Source(CheckpointFiles):
    """Copies tensors out of mapped safetensors files on demand, as floats."""

    def __init__(self, v4: V4Config, files: list[SafetensorsFile], folder: Path) -> None:
        """Check every tensor of ``files`` against ``v4``; raises ModelCorruptError."""
        super().__init__(files)
        self.folder = folder
        self.v4 = v4
        self._config = v4.base
        self._owner = {name: file for file in files for name in file.tensors}
        self._names: dict[str, str] = {}
        self._shapes: dict[str, Shape] = {}
        optional = optional_names(v4)
        for name, shape in all_shapes(v4):
            self._place(name, shape, is_optional=name in optional)

    @classmethod
    def open(cls, folder: str | Path) -> "V4Source":
        """Open and check a folder with config.json and .safetensors files.

        Raises ModelMissingError, ModelCorruptError or ModelUnsupportedError.
        """
        folder = Path(folder)
        v4 = read_v4_config(folder)
        _check_scheme(folder)
        files = open_folder(folder)
        try:
            return cls(v4, files, folder)
        except BaseException:
            for file in files:
                file.close()
            raise

    @property
    @override
    def is_four_bit(self) -> bool:
        return False

    @override
    def weight(self, name: str) -> DenseWeight:
        return DenseWeight(self._floats(name))

    @override
    def vector(self, name: str) -> torch.Tensor:
        return self.values(name)

    @override
    def stored(self, name: str) -> Stored:
        return stored_floats(self._info(self._names[name]).dtype)

    def values(self, name: str) -> torch.Tensor:
        """A small tensor of any shape, float32."""
        return self._floats(name).float()

    def table(self, name: str) -> torch.Tensor:
        """A table of whole numbers, int64; raises ModelCorruptError for one of another type."""
        values = self._stored(self._names[name])
        if values.is_floating_point():
            raise corrupt(str(self.folder), f"the tensor {self._names[name]} holds no numbers")
        return values.long()

    def _place(self, name: str, shape: Shape, *, is_optional: bool) -> None:
        names = stored_names(name)
        stored = next((n for n in names if n in self._owner), None)
        if stored is None:
            if not is_optional:
                raise corrupt(str(self.folder), f"the tensor {names[0]} is missing")
            return
        found = self._shape_of(stored)
        if found != shape:
            raise corrupt(
                str(self.folder),
                f"the tensor {stored} has shape {list(found)}, not {list(shape)}",
            )
        self._names[name] = stored
        self._shapes[name] = shape

    def _shape_of(self, stored: str) -> Shape:
        """Shape of the values; packed ones have half as many columns in the file."""
        info = self._info(stored)
        if info.dtype in _PACKED and self._scale_name(stored) is not None:
            return (*info.shape[:-1], 2 * info.shape[-1])
        return info.shape

    def _floats(self, name: str) -> torch.Tensor:
        stored = self._names[name]
        path = str(self.folder)
        scale_name = self._scale_name(stored)
        if self._info(stored).dtype not in _NARROW:
            values = self._owner[stored].tensor(stored)
            self._bytes_read += self._info(stored).nbytes
        elif scale_name is None:
            raise corrupt(path, f"the scales of {stored} are missing")
        else:
            try:
                values = decode_blocks(self._stored(stored), self._stored(scale_name))
            except ValueError as error:
                raise corrupt(path, f"the scales of {stored} do not fit: {error}") from error
        return check_finite_tensor(values, stored, path)

    def _stored(self, stored: str) -> torch.Tensor:
        self._bytes_read += self._info(stored).nbytes
        return self._owner[stored].stored(stored)

    def _info(self, stored: str) -> StoredTensor:
        return self._owner[stored].tensors[stored]

    def _scale_name(self, stored: str) -> str | None:
        names = (f"{stored.removesuffix('.weight')}.scale", f"{stored}_scale_inv")
        return next((name for name in names if name in self._owner), None)


def stored_names(name: str) -> tuple[str, ...]:
    """What files call the canonical ``name``, the published spelling first."""
    if name in _ENDS:
        return _ENDS[name]
    layers, index, part = name.split(".", 2)
    spelled = (_layer_part(part), *_KV_NORMS.get(part, ()))
    plain = tuple(f"{layers}.{index}.{s}" for s in spelled)
    return (*plain, *(f"model.{s}" for s in plain))


def _layer_part(part: str) -> str:
    owner, _, leaf = part.rpartition(".")
    if owner.endswith("_streams"):
        block = "attn" if owner.startswith("attention") else "ffn"
        return f"hc_{block}_{_STREAMS[leaf]}"
    if owner == "shared":
        return f"ffn.shared_experts.{_MLP[leaf]}.weight"
    if owner.startswith("experts"):
        return f"ffn.{owner}.{_MLP[leaf]}.weight"
    return _LAYER[part]


def optional_names(v4: V4Config) -> frozenset[str]:
    """Parameters a checkpoint may do without."""
    biases = {f"layers.{i}.router_bias" for i in range(v4.base.num_layers)}
    return frozenset(biases | ({"head"} if v4.base.tie_word_embeddings else set()))


def all_shapes(v4: V4Config) -> Iterator[tuple[str, Shape]]:
    """Every parameter and its shape."""
    hidden, vocab = v4.base.hidden_size, v4.base.vocab_size
    yield "embed", (vocab, hidden)
    yield "norm", (hidden,)
    yield "head", (vocab, hidden)
    yield from _stream_shapes("collapse", v4, v4.streams, 1)
    for index, (kind, is_hashed) in enumerate(zip(v4.kinds, v4.is_hashed, strict=True)):
        at = f"layers.{index}."
        parts = {
            **_attention_shapes(v4),
            **_pool_shapes(v4, kind),
            **_expert_shapes(v4, is_hashed=is_hashed),
        }
        yield from ((at + part, shape) for part, shape in parts.items())
        mixes = (2 + v4.streams) * v4.streams
        for block in ("attention_streams", "ffn_streams"):
            yield from _stream_shapes(at + block, v4, mixes, 3)


def _stream_shapes(
    at: str, v4: V4Config, outputs: int, scales: int
) -> Iterator[tuple[str, Shape]]:
    yield f"{at}.matrix", (outputs, v4.streams * v4.base.hidden_size)
    yield f"{at}.base", (outputs,)
    yield f"{at}.scales", (scales,)


def _attention_shapes(v4: V4Config) -> dict[str, Shape]:
    base = v4.base
    hidden, heads = base.hidden_size, base.num_heads * base.head_dim
    narrow = v4.groups * v4.group_rank
    return {
        "q_a": (v4.q_rank, hidden),
        "q_b": (heads, v4.q_rank),
        "kv": (base.head_dim, hidden),
        "o_a": (narrow, heads // v4.groups),
        "o_b": (hidden, narrow),
        "q_norm": (v4.q_rank,),
        "kv_norm": (base.head_dim,),
        "sinks": (base.num_heads,),
        "attention_norm": (hidden,),
        "ffn_norm": (hidden,),
    }


def _pool_shapes(v4: V4Config, kind: Kind) -> dict[str, Shape]:
    if kind is Kind.SLIDING:
        return {}
    head, shape, hidden = v4.base.head_dim, v4.compression, v4.base.hidden_size
    if kind is Kind.HCA:
        return _one_pool("pool", head, head, shape.hca_stride, hidden)
    width = shape.index_dim
    return {
        **_one_pool("pool", head, 2 * head, shape.csa_stride, hidden),
        **_one_pool("index", width, 2 * width, shape.csa_stride, hidden),
        "index.queries": (shape.index_heads * width, v4.q_rank),
        "index.weights": (shape.index_heads, hidden),
    }


def _one_pool(at: str, width: int, rows: int, stride: int, hidden: int) -> dict[str, Shape]:
    return {
        f"{at}.values": (rows, hidden),
        f"{at}.gates": (rows, hidden),
        f"{at}.bias": (stride, rows),
        f"{at}.norm": (width,),
    }


def _expert_shapes(v4: V4Config, *, is_hashed: bool) -> dict[str, Shape]:
    hidden, experts = v4.base.hidden_size, v4.experts
    inner = experts.intermediate_size
    shapes: dict[str, Shape] = {"router": (experts.count, hidden)}
    if is_hashed:
        shapes["router_table"] = (v4.base.vocab_size, experts.per_token)
    else:
        shapes["router_bias"] = (experts.count,)
    for owner in ("shared", *(f"experts.{expert}" for expert in range(experts.count))):
        shapes[f"{owner}.gate"] = shapes[f"{owner}.up"] = (inner, hidden)
        shapes[f"{owner}.down"] = (hidden, inner)
    return shapes


def _check_scheme(folder: Path) -> None:
    """Refuse matrices quantised otherwise than in blocks of 8 or 4 bits."""
    fields = Fields(read_json(folder / "config.json", _MAX_CONFIG_BYTES), str(folder))
    section = fields.section("quantization_config")
    if section is None:
        return
    method = section.text("quant_method", "fp8")
    if method != "fp8":
        raise section.unsupported(f"weights quantised by {method[:40]!a}")
