"""How a file keeps a matrix, as far as it decides what becomes of the matrix in memory.

Known from a header alone; no torch.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from engine.quant.ggml_types import GgmlType

# how a table of embeddings is kept where no head shares it
TableForm = Literal["16 bits", "32 bits", "8-bit groups", "8-bit rows"]

FOUR_BIT_TYPES = frozenset(
    {GgmlType.Q4_0, GgmlType.Q4_1, GgmlType.Q2_K, GgmlType.Q3_K, GgmlType.Q4_K}
)
_FORMS: Mapping[GgmlType, TableForm] = {
    GgmlType.F32: "32 bits",
    GgmlType.F16: "16 bits",
    GgmlType.BF16: "16 bits",
}
_GROUPED = frozenset({GgmlType.Q5_0, GgmlType.Q8_0, GgmlType.Q6_K})  # 8 bits without an offset
_SHORT_GROUPS = frozenset({GgmlType.Q2_K, GgmlType.Q3_K})
_KERNEL_GROUPS = (256, 128, 64, 32)


@dataclass(frozen=True, slots=True)
class Stored:
    """One matrix of a file.

    ``is_four_bit``: it comes out in groups of 4 bits; ``group``: weights of one of them;
    ``is_even``: each of them evenly around zero, with a scale and no offset. ``table_form``: what an embedding table becomes that is looked up only.
    """

    is_four_bit: bool = False
    group: int = 32
    table_form: TableForm = "16 bits"
    is_even: bool = False


def stored_as(kind: GgmlType) -> Stored:
    """How a GGUF file keeps a matrix of ``kind``."""
    grouped: TableForm = "8-bit groups" if kind in _GROUPED else "8-bit rows"
    return Stored(
        kind in FOUR_BIT_TYPES,
        16 if kind in _SHORT_GROUPS else 32,
        _FORMS.get(kind, grouped),
        is_even=kind is GgmlType.Q4_0,
    )


def stored_in_groups(columns: int, num_groups: int) -> Stored:
    """A matrix published in ``num_groups`` groups of 4 bits a row."""
    return Stored(
        is_four_bit=True,
        group=kernel_group(columns // max(1, num_groups)),
        table_form="8-bit rows",
    )


def kernel_group(size: int) -> int:
    """The largest group a kernel takes that divides one of ``size`` weights."""
    return next((group for group in _KERNEL_GROUPS if size % group == 0), _KERNEL_GROUPS[-1])


def stored_floats(dtype: str) -> Stored:
    """A matrix of floats; ``dtype`` as safetensors files name it."""
    return Stored(table_form="32 bits" if dtype in {"F32", "F64"} else "16 bits")
