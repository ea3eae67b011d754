"""From the header of a GGUF file to a Blueprint: the file's own tensors, not a guess at them."""

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from engine.model.config import corrupt
from engine.model.footprint.blueprint import Blueprint, Product
from engine.model.footprint.cache import CacheTrack, attention
from engine.model.gguf import TensorInfo
from engine.model.gguf_split import open_gguf
from engine.planner.families import MAX_CONTEXT, MAX_EXPERTS, MAX_LAYERS, size
from engine.planner.header import HeaderFields
from engine.quant.stored import FOUR_BIT_TYPES, stored_as

_LAYER = re.compile(r"blk\.(\d+)\.(\w+)\.weight")
# parts that run as one product
_FUSED = {
    "attn_q": "qkv",
    "attn_k": "qkv",
    "attn_v": "qkv",
    "ffn_gate": "gate_up",
    "ffn_up": "gate_up",
    "ffn_gate_exps": "experts",
    "ffn_up_exps": "experts",
}
_TABLE, _HEAD = "token_embd.weight", "output.weight"
_PERIODS = {"gemma2": 2, "gemma3": 6}  # the last layer of each is a full one


def read_gguf(path: Path) -> Blueprint:
    """Read the header of a file, or of all files of a split one.

    Raises what ``open_gguf`` raises, and ModelCorruptError.
    """
    with closing(open_gguf(path)) as file:
        fields = HeaderFields(file.metadata, str(path))
        return _Header(fields, file.tensors).blueprint(path.stem)


class _Header:
    """The metadata and the tensor table of one file."""

    def __init__(self, fields: HeaderFields, tensors: Mapping[str, TensorInfo]) -> None:
        self._fields = fields
        self._tensors = tensors
        self._arch = fields.text("general.architecture")
        self._num_layers = self._size("block_count", limit=MAX_LAYERS)

    def blueprint(self, stem: str) -> Blueprint:
        """Everything the header says."""
        table = self._tensors.get(_TABLE)
        if table is None or len(table.shape) != 2:
            raise corrupt(self._fields.path, f"the tensor {_TABLE} is missing")
        products = self._products()
        head = self._tensors.get(_HEAD)
        stored = stored_as(table.type)
        return Blueprint(
            name=self._fields.text("general.name", stem),
            model_type=self._arch,
            vocab_size=table.shape[0],
            hidden_size=table.shape[1],
            num_layers=self._num_layers,
            context_length=self._size("context_length", limit=MAX_CONTEXT),
            products=tuple(products),
            head=None if head is None else self._product(None, [head]),
            vector_values=sum(t.shape[0] for t in self._tensors.values() if len(t.shape) == 1),
            table_form=stored.table_form,
            tracks=tuple(self._tracks()),
            widest_row=max(p.rows * p.active for p in products),
            is_from_weights=True,
            is_four_bit=self._is_mostly_four_bit(),
            is_table_four_bit=stored.is_four_bit,
            is_table_even=stored.is_even,
        )

    def _size(self, key: str, default: int | None = None, limit: int = 1 << 24) -> int:
        return size(self._fields, f"{self._arch}.{key}", default, limit)

    def _layer_tensors(self) -> Iterable[tuple[str, TensorInfo]]:
        for name, info in self._tensors.items():
            match = _LAYER.fullmatch(name)
            if match and len(info.shape) > 1:
                part = match[2]
                yield f"{match[1]}.{_FUSED.get(part, part)}", info

    def _products(self) -> list[Product]:
        groups: dict[str, list[TensorInfo]] = {}
        for name, info in self._layer_tensors():
            groups.setdefault(name, []).append(info)
        if not groups:
            raise corrupt(self._fields.path, "it holds no layers")
        return [
            self._product(int(name.partition(".")[0]), parts) for name, parts in groups.items()
        ]

    def _product(self, layer: int | None, parts: list[TensorInfo]) -> Product:
        """Tensors of [N, K], or [experts, N, K], as one product."""
        first = parts[0].shape
        if any(p.shape[:-2] != first[:-2] or p.shape[-1] != first[-1] for p in parts):
            raise corrupt(self._fields.path, f"{parts[-1].name} does not fit {parts[0].name}")
        copies = first[0] if len(first) == 3 else 1
        active = copies
        if copies > 1:
            active = min(copies, self._size("expert_used_count", limit=MAX_EXPERTS))
        stored = [stored_as(part.type) for part in parts]
        return Product(
            rows=sum(p.shape[-2] for p in parts),
            columns=first[-1],
            copies=copies,
            active=active,
            # groups of different sizes do not make one product of groups
            is_four_bit=all(p.is_four_bit for p in stored) and len({p.group for p in stored}) == 1,
            is_even=all(p.is_even for p in stored),
            layer=layer,
        )

    def _is_mostly_four_bit(self) -> bool:
        infos = [info for _, info in self._layer_tensors()]
        four_bit = sum(info.nbytes for info in infos if info.type in FOUR_BIT_TYPES)
        return four_bit * 2 > sum(info.nbytes for info in infos)

    def _tracks(self) -> list[CacheTrack]:
        heads = self._size("attention.head_count", limit=MAX_LAYERS)
        latent_key = f"{self._arch}.attention.kv_lora_rank"
        if latent_key in self._fields:
            latent = size(self._fields, latent_key)
            rotary = self._size("rope.dimension_count")
            flops = 2 * heads * (2 * latent + rotary)
            return [CacheTrack(self._num_layers, latent + rotary, flops=flops)]
        keys = self._size("attention.head_count_kv", heads, limit=MAX_LAYERS)
        hidden = self._size("embedding_length")
        head_dim = self._size("attention.key_length", max(1, hidden // heads))
        sliding = self._sliding()
        full = [layer for layer in range(self._num_layers) if layer not in sliding]
        window = self._size("attention.sliding_window", MAX_CONTEXT, limit=MAX_CONTEXT)
        return [
            attention(len(some), heads, keys, head_dim, limit, some)
            for some, limit in ((full, None), (sliding, window))
            if some
        ]

    def _sliding(self) -> list[int]:
        """Layers with a window: as the file lists them, or as its architecture has them."""
        layers = range(self._num_layers)
        if self._fields.whole(f"{self._arch}.attention.sliding_window", 0) == 0:
            return []
        listed: Any = self._fields.flags(f"{self._arch}.attention.sliding_window_pattern")
        if len(listed) == self._num_layers:
            return [layer for layer in layers if listed[layer]]
        period = _PERIODS.get(self._arch)
        return [layer for layer in layers if not period or (layer + 1) % period]
