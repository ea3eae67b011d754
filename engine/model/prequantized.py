"""Folders whose matrices were quantised before they were published: which tensors make one matrix.

Reads ``quantization_config`` and shows each group of stored tensors (``q_proj.qweight``,
``q_proj.scales``, ...) as the one matrix ``q_proj.weight`` it stands for. Knows names and shapes;
``engine.quant.packed_words`` and ``engine.quant.table_blocks`` know the bits.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from engine.model.config import corrupt
from engine.model.fields import Fields
from engine.model.safetensors import SafetensorsFile, read_json
from engine.quant.layout import Weight
from engine.quant.packed_words import (
    PackingError,
    decode_awq,
    decode_compressed,
    decode_gptq,
    groups_in_order,
)
from engine.quant.stored import Stored, stored_in_groups
from engine.quant.table_blocks import Maxima, decode_int8_rows, decode_table_blocks

_MAX_CONFIG_BYTES = 10_000_000
_MAX_STATE_BYTES = 1 << 20
_METHODS = frozenset({"gptq", "awq", "bitsandbytes", "compressed-tensors"})
_STATE = "quant_state.bitsandbytes__"  # the start of the last part of a name
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Scheme:
    """How a folder's matrices are packed. ``bits``: 4 or 8 (bitsandbytes says it per tensor)."""

    method: str
    bits: int
    zero_shift: int = 1


def read_scheme(folder: Path) -> Scheme | None:
    """What config.json (or quantize_config.json) says; None for plain weights.

    Raises ModelUnsupportedError for a method or a number of bits that we do not unpack.
    """
    fields = Fields(read_json(folder / "config.json", _MAX_CONFIG_BYTES), str(folder))
    section = fields.section("quantization_config")
    older = folder / "quantize_config.json"
    if section is None and older.is_file():
        section = Fields(read_json(older, _MAX_CONFIG_BYTES), str(folder))
    if section is None:
        return None
    method = section.text("quant_method", "gptq")
    if method not in _METHODS:
        raise section.unsupported(f"weights quantised by {method[:40]!a}")
    if method == "bitsandbytes":
        return Scheme(method, 8 if section.flag("load_in_8bit", default=False) else 4)
    if method == "compressed-tensors":
        return Scheme(method, _compressed_bits(section))
    bits = section.whole("bits", 4)
    if bits not in ({4, 8} if method == "gptq" else {4}):
        raise section.unsupported(f"weights of {bits} bits")
    layout = section.text("version", "gemm").lower()
    if method == "awq" and layout != "gemm":
        raise section.unsupported(f"AWQ weights in the order {layout[:40]!a}")
    form = section.text("checkpoint_format", "gptq")
    if method == "gptq" and form not in {"gptq", "gptq_v2"}:
        raise section.unsupported(f"GPTQ weights in the form {form[:40]!a}")
    return Scheme(method, bits, 0 if form == "gptq_v2" else 1)


def _compressed_bits(section: Fields) -> int:
    layout = section.text("format", "pack-quantized")
    if layout != "pack-quantized":
        raise section.unsupported(f"weights in the form {layout[:40]!a}")
    groups = section.section("config_groups")
    kinds: set[tuple[int, str]] = set()
    for name in groups.names() if groups else ():
        group = groups.section(name) if groups else None
        weights = group.section("weights") if group else None
        if weights is not None:
            kinds.add((weights.whole("num_bits"), weights.text("type", "int")))
    if len(kinds) != 1:
        raise section.unsupported("weights quantised in several ways")
    bits, kind = kinds.pop()
    if kind != "int" or bits not in {4, 8}:
        raise section.unsupported(f"weights of {bits} bits of type {kind[:40]!a}")
    return bits


class Prequantized:
    """The quantised matrices of a folder, by the name their plain weights would have."""

    def __init__(self, scheme: Scheme, owners: Mapping[str, SafetensorsFile], folder: str) -> None:
        """Look through the names; raises ModelCorruptError for a shape that is not one."""
        self._scheme = scheme
        self._owners = owners
        self._folder = folder
        self._tables = _states(owners) if scheme.method == "bitsandbytes" else {}
        self.shapes: Mapping[str, Shape] = {
            f"{module}.weight": self._shape(module) for module in self._modules()
        }

    @property
    def is_four_bit(self) -> bool:
        """Whether the matrices come out in groups of 4 bits."""
        if self._scheme.bits != 4 or not self.shapes or self._scheme.method == "bitsandbytes":
            return False
        first = next(iter(self.shapes)).removesuffix(".weight")
        name = f"{first}.{'weight_g_idx' if self._is_compressed else 'g_idx'}"
        if name not in self._owners:
            return True
        g_idx, scales = self._read(name), self._info(first, self._scales_name)
        groups = scales[1] if self._is_compressed else scales[0]
        return bool((g_idx < 0).all()) or (groups > 0 and groups_in_order(g_idx, groups))

    def stored(self, name: str) -> Stored:
        """How the files keep the matrix ``name``, one of ``shapes``."""
        if not self.is_four_bit:
            return Stored(table_form="8-bit rows")
        scales = self._info(name.removesuffix(".weight"), self._scales_name)
        return stored_in_groups(self.shapes[name][1], scales[1 if self._is_compressed else 0])

    def nbytes(self, name: str) -> int:
        """Bytes of all tensors that make the matrix ``name``."""
        module = name.removesuffix("weight")
        return sum(f.tensors[n].nbytes for n, f in self._owners.items() if n.startswith(module))

    def weight(self, name: str) -> Weight:
        """Unpack the matrix ``name``, one of ``shapes``; raises ModelCorruptError."""
        try:
            weight = self._decoder()(name.removesuffix(".weight"))
        except PackingError as error:
            raise corrupt(self._folder, f"the tensors of {name} contradict: {error}") from error
        if weight.shape != self.shapes[name]:
            raise corrupt(
                self._folder,
                f"the tensors of {name} make {list(weight.shape)}, not {list(self.shapes[name])}",
            )
        return weight

    # ------------------------------------------------------------------ one method each

    def _decoder(self) -> Callable[[str], Weight]:
        match self._scheme.method:
            case "gptq":
                return self._gptq
            case "awq":
                return self._awq
            case "compressed-tensors":
                return self._compressed
            case _:
                return self._bitsandbytes

    def _gptq(self, module: str) -> Weight:
        qweight, qzeros, scales = self._parts(module, "qweight", "qzeros", "scales")
        g_idx = self._optional(f"{module}.g_idx")
        scheme = self._scheme
        return decode_gptq(qweight, qzeros, scales, g_idx, scheme.bits, scheme.zero_shift)

    def _awq(self, module: str) -> Weight:
        return decode_awq(*self._parts(module, "qweight", "qzeros", "scales"))

    def _compressed(self, module: str) -> Weight:
        packed, scales = self._parts(module, "weight_packed", "weight_scale")
        return decode_compressed(
            packed,
            scales,
            self._optional(f"{module}.weight_zero_point"),
            self._optional(f"{module}.weight_g_idx"),
            self._scheme.bits,
            self.shapes[f"{module}.weight"][1],
        )

    def _bitsandbytes(self, module: str) -> Weight:
        at = f"{module}.weight"
        state_name = self._tables.get(module)
        if state_name is None:
            return decode_int8_rows(*self._parts(module, "weight", "SCB"))
        state = self._state(state_name)
        packed, table, absmax = self._parts(module, "weight", "weight.quant_map", "weight.absmax")
        maxima = Maxima(
            absmax,
            self._optional(f"{at}.nested_quant_map"),
            self._optional(f"{at}.nested_absmax"),
            state.whole("nested_blocksize", 256),
            state.real("nested_offset", 0.0),
        )
        shape = (self.shapes[at][0], self.shapes[at][1])
        return decode_table_blocks(packed, table, maxima, state.whole("blocksize"), shape)

    # ------------------------------------------------------------------ names and shapes

    @property
    def _is_compressed(self) -> bool:
        return self._scheme.method == "compressed-tensors"

    @property
    def _scales_name(self) -> str:
        return "weight_scale" if self._is_compressed else "scales"

    def _modules(self) -> list[str]:
        if self._scheme.method == "bitsandbytes":
            rows = [n.removesuffix(".SCB") for n in self._owners if n.endswith(".SCB")]
            return [*self._tables, *rows]
        mark = ".weight_packed" if self._is_compressed else ".qweight"
        return [name.removesuffix(mark) for name in self._owners if name.endswith(mark)]

    def _shape(self, module: str) -> Shape:
        per_word = 32 // self._scheme.bits
        match self._scheme.method:
            case "gptq":
                rows, columns = self._info(module, "qweight")
                return columns, rows * per_word
            case "awq":
                rows, columns = self._info(module, "qweight")
                return columns * per_word, rows
            case "compressed-tensors":
                return self._whole_shape(self._parts(module, "weight_shape")[0].tolist())
            case _:
                state = self._tables.get(module)
                if state is None:
                    return self._info(module, "weight")
                return self._whole_shape(self._state(state).sizes("shape"))

    def _info(self, module: str, part: str) -> tuple[int, int]:
        name = f"{module}.{part}"
        if name not in self._owners:
            raise corrupt(self._folder, f"the tensor {name[:80]} is missing")
        shape = self._owners[name].tensors[name].shape
        return self._whole_shape(list(shape))

    def _whole_shape(self, sizes: Any) -> tuple[int, int]:
        if (
            not isinstance(sizes, list)
            or len(sizes) != 2
            or not all(0 < s < 1 << 31 for s in sizes)
        ):
            raise corrupt(self._folder, f"one of its matrices has the shape {str(sizes)[:40]}")
        return sizes[0], sizes[1]

    def _state(self, name: str) -> Fields:
        """The JSON that bitsandbytes keeps beside a 4-bit matrix, as bytes of a tensor."""
        if self._owners[name].tensors[name].nbytes > _MAX_STATE_BYTES:
            raise corrupt(self._folder, f"the tensor {name[:80]} is too large")
        try:
            value = json.loads(bytes(self._read(name).to(torch.uint8).tolist()))
        except (ValueError, RecursionError) as error:
            raise corrupt(self._folder, f"the tensor {name[:80]} holds no JSON") from error
        if not isinstance(value, dict):
            raise corrupt(self._folder, f"the tensor {name[:80]} holds no table")
        return Fields(value, self._folder)

    def _parts(self, module: str, *parts: str) -> list[torch.Tensor]:
        names = [f"{module}.{part}" for part in parts]
        missing = [name for name in names if name not in self._owners]
        if missing:
            raise corrupt(self._folder, f"the tensor {missing[0][:80]} is missing")
        return [self._read(name) for name in names]

    def _optional(self, name: str) -> torch.Tensor | None:
        return self._read(name) if name in self._owners else None

    def _read(self, name: str) -> torch.Tensor:
        return self._owners[name].stored(name)


def _states(owners: Mapping[str, SafetensorsFile]) -> dict[str, str]:
    """Module -> name of the tensor that describes its 4-bit weight."""
    mark = f".weight.{_STATE}"
    return {name.partition(mark)[0]: name for name in owners if mark in name}
