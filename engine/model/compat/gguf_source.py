"""A GGUF file as the parameters of one of transformers' models.

``engine.model.compat.gguf_families`` says which tensor makes which parameter; the file was checked
by the engine's own reader before anything else looks at it, and is decoded one tensor at a time.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from transformers import PreTrainedConfig
from typing_extensions import override

from engine.model.checkpoint_files import CheckpointFiles
from engine.model.compat.gguf_families import FAMILIES, GgufFamily, Header, Undo, settings_of
from engine.model.compat.paged_cache import LayerShape
from engine.model.compat.skeleton import build_skeleton, probe_layers, read_settings
from engine.model.compat.source import Parameters, model_config
from engine.model.config import corrupt
from engine.model.fields import Fields
from engine.model.gguf import MetadataValue
from engine.model.gguf_split import GgufTensors, open_gguf
from engine.model.source import Shape, check_finite, check_finite_tensor
from engine.quant.ggml import can_decode, decode, decode_vector, is_four_bit
from engine.quant.ggml_types import GgmlType
from engine.quant.layout import DenseWeight, Weight
from engine.quant.stored import Stored, stored_as

_UNUSED = frozenset({"rope_freqs.weight"})
_FUSED = "attn_qkv"
_PARTS = ("attn_q", "attn_k", "attn_v")


@dataclass(frozen=True, slots=True)
class _Piece:
    """The rows of a tensor from ``first`` on, as the file has them; ``undo``: what is left to do."""

    tensor: str
    shape: Shape
    first: int
    undo: Undo | None


class CompatGgufSource(CheckpointFiles, Parameters):
    """Decodes tensors out of a mapped GGUF file; names are those of transformers."""

    def __init__(self, file: GgufTensors, family: GgufFamily, header: Header) -> None:
        """Find each parameter's tensor; raises ModelCorruptError or ModelUnsupportedError."""
        self.path = str(file.path)
        self.folder = file.path
        super().__init__([file])
        self._file = file
        self._header = header
        table = file.tensors.get("token_embd.weight")
        values = settings_of(family, header, table.shape[0] if table else 0)
        self.settings: PreTrainedConfig = read_settings(values, family.model_type, file.path)
        self.layer_shapes: tuple[LayerShape, ...] = probe_layers(self.settings, file.path)
        self._pieces = self._find_pieces(family)
        self._check_types()
        config = model_config(self.settings, self.layer_shapes, file.path)
        name = header.fields.text("general.name", file.path.stem)
        license_name = header.fields.text("general.license", "")
        self._config = replace(config, name=name, license=license_name)
        self._shapes = {name: piece.shape for name, piece in self._pieces.items()}

    @classmethod
    def open(cls, path: Path) -> "CompatGgufSource":
        """Open and check a file.

        Raises ModelMissingError, ModelCorruptError or ModelUnsupportedError.
        """
        with ExitStack() as opened:
            file = open_gguf(path)
            opened.callback(file.close)
            fields = Fields(file.metadata, str(path))
            arch = fields.text("general.architecture")
            family = FAMILIES.get(arch)
            if family is None:
                raise fields.unsupported(f"the architecture {arch[:40]!a}")
            source = cls(file, family, Header(fields, arch, frozenset(file.tensors)))
            opened.pop_all()  # all is well: the file stays open
        return source

    @property
    def metadata(self) -> Mapping[str, MetadataValue]:
        """The file's header, tokenizer and chat template included."""
        return self._file.metadata

    @property
    @override
    def is_four_bit(self) -> bool:
        pieces = [piece for piece in self._pieces.values() if piece.tensor.startswith("blk.")]
        infos = [self._file.tensors[p.tensor] for p in pieces if p.undo is None]
        total = sum(self._file.tensors[piece.tensor].nbytes for piece in pieces)
        return sum(info.nbytes for info in infos if is_four_bit(info.type)) * 2 > total

    @property
    @override
    def num_parameters(self) -> int:
        return len(self._pieces)

    @override
    def weight(self, name: str) -> Weight:
        value = self._read(self._pieces[name])
        return DenseWeight(value) if isinstance(value, torch.Tensor) else value

    @override
    def vector(self, name: str) -> torch.Tensor:
        return self.weight(name).dequantize()

    @override
    def stored(self, name: str) -> Stored:
        piece = self._pieces[name]
        is_plain = piece.undo is None
        return stored_as(self._file.tensors[piece.tensor].type if is_plain else GgmlType.F32)

    @override
    def parameters(self) -> Iterator[tuple[str, Weight | torch.Tensor]]:
        for name, piece in self._pieces.items():
            yield name, self._read(piece)

    # ------------------------------------------------------------------ which tensors

    def _find_pieces(self, family: GgufFamily) -> dict[str, _Piece]:
        skeleton = build_skeleton(self.settings, torch.float32, self.folder)
        wanted = {name: tuple(value.shape) for name, value in skeleton.state_dict().items()}
        pieces: dict[str, _Piece] = {}
        for name, shape in wanted.items():
            stored = family.file_name(name)
            piece = None if stored is None else self._find(stored, shape, family.undone(stored))
            if piece is not None:
                pieces[name] = piece
        unused = self._file.tensors.keys() - {piece.tensor for piece in pieces.values()} - _UNUSED
        if unused:
            raise self._header.fields.unsupported(
                f"the tensor {min(unused)[:60]!a} in {self._header.arch}"
            )
        return pieces

    def _find(self, stored: str, shape: Shape, undo: Undo | None) -> _Piece | None:
        tensors = self._file.tensors
        if stored in tensors:
            self._check_shape(stored, shape, undo)
            return _Piece(stored, tensors[stored].shape, 0, undo)
        part = next((i for i, name in enumerate(_PARTS) if f".{name}." in stored), None)
        fused = "" if part is None else stored.replace(_PARTS[part], _FUSED)
        if part is None or fused not in tensors:
            return None
        keys = self._header.kv_heads * self._header.head_dim
        sizes = (self._header.heads * self._header.head_dim, keys, keys)
        self._check_shape(fused, (sum(sizes), *shape[1:]), None)
        return _Piece(fused, shape, sum(sizes[:part]), undo)

    def _check_shape(self, tensor: str, wanted: Shape, undo: Undo | None) -> None:
        """Compare with what ``tensor`` has once it is undone; on no data."""
        found = self._file.tensors[tensor].shape
        made: Shape = found
        if undo is not None:
            try:
                made = tuple(undo(torch.empty(found, device="meta"), self._header).shape)
            except RuntimeError:  # sizes that do not divide
                made = ()
        if made != wanted:
            reason = f"the tensor {tensor} has shape {list(found)}, which does not fit"
            raise corrupt(self.path, reason)

    def _check_types(self) -> None:
        for piece in self._pieces.values():
            kind = self._file.tensors[piece.tensor].type
            if not can_decode(kind):
                raise self._header.fields.unsupported(f"weights kept as {kind.name}")

    # ------------------------------------------------------------------ reading them

    def _read(self, piece: _Piece) -> Weight | torch.Tensor:
        info = self._file.tensors[piece.tensor]
        row_bytes = info.nbytes // info.shape[0]
        raw = self._file.raw(piece.tensor)
        raw = raw[piece.first * row_bytes :][: piece.shape[0] * row_bytes]
        self._bytes_read += raw.size
        value: Weight | torch.Tensor
        if len(piece.shape) == 1:
            value = check_finite_tensor(decode_vector(raw, info.type), piece.tensor, self.path)
        else:
            shape = (piece.shape[0], piece.shape[1])
            value = check_finite(decode(raw, info.type, shape), piece.tensor, self.path)
        if piece.undo is None:
            return value
        dense = value if isinstance(value, torch.Tensor) else value.dequantize()
        return piece.undo(dense, self._header)
