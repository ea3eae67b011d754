"""The block types of ggml: numbers, block lengths and bytes. Facts only; nothing is decoded here."""

from dataclasses import dataclass
from enum import IntEnum


class GgmlType(IntEnum):
    """Tensor types by the number GGUF files carry. Gaps are types ggml has withdrawn."""

    F32 = 0
    F16 = 1
    Q4_0 = 2
    Q4_1 = 3
    Q5_0 = 6
    Q5_1 = 7
    Q8_0 = 8
    Q2_K = 10
    Q3_K = 11
    Q4_K = 12
    Q5_K = 13
    Q6_K = 14
    Q8_K = 15
    IQ2_XXS = 16
    IQ2_XS = 17
    IQ3_XXS = 18
    IQ1_S = 19
    IQ4_NL = 20
    IQ3_S = 21
    IQ2_S = 22
    IQ4_XS = 23
    I8 = 24
    I16 = 25
    I32 = 26
    I64 = 27
    F64 = 28
    IQ1_M = 29
    BF16 = 30
    TQ1_0 = 34
    TQ2_0 = 35
    MXFP4 = 39

    @property
    def block(self) -> "BlockSize":
        """Values and bytes of one block."""
        return _BLOCKS[self]


@dataclass(frozen=True, slots=True)
class BlockSize:
    """One block: ``values`` consecutive values of a row in ``nbytes`` bytes."""

    values: int
    nbytes: int


_BLOCKS = {
    GgmlType.F32: BlockSize(1, 4),
    GgmlType.F16: BlockSize(1, 2),
    GgmlType.Q4_0: BlockSize(32, 18),
    GgmlType.Q4_1: BlockSize(32, 20),
    GgmlType.Q5_0: BlockSize(32, 22),
    GgmlType.Q5_1: BlockSize(32, 24),
    GgmlType.Q8_0: BlockSize(32, 34),
    GgmlType.Q2_K: BlockSize(256, 84),
    GgmlType.Q3_K: BlockSize(256, 110),
    GgmlType.Q4_K: BlockSize(256, 144),
    GgmlType.Q5_K: BlockSize(256, 176),
    GgmlType.Q6_K: BlockSize(256, 210),
    GgmlType.Q8_K: BlockSize(256, 292),
    GgmlType.IQ2_XXS: BlockSize(256, 66),
    GgmlType.IQ2_XS: BlockSize(256, 74),
    GgmlType.IQ3_XXS: BlockSize(256, 98),
    GgmlType.IQ1_S: BlockSize(256, 50),
    GgmlType.IQ4_NL: BlockSize(32, 18),
    GgmlType.IQ3_S: BlockSize(256, 110),
    GgmlType.IQ2_S: BlockSize(256, 82),
    GgmlType.IQ4_XS: BlockSize(256, 136),
    GgmlType.I8: BlockSize(1, 1),
    GgmlType.I16: BlockSize(1, 2),
    GgmlType.I32: BlockSize(1, 4),
    GgmlType.I64: BlockSize(1, 8),
    GgmlType.F64: BlockSize(1, 8),
    GgmlType.IQ1_M: BlockSize(256, 56),
    GgmlType.BF16: BlockSize(1, 2),
    GgmlType.TQ1_0: BlockSize(256, 54),
    GgmlType.TQ2_0: BlockSize(256, 66),
    GgmlType.MXFP4: BlockSize(32, 17),
}
