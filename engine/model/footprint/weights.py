"""Bytes of weights: of the parameters alone, and as this engine allocates them.

The textbook counts bits a parameter: a model of nominally 7 billion takes 28 GB in FP32, 14 in
BF16, 7 in INT8 and 3.5 in INT4 (Llama 7B really has 6.74 billion: 27.0, 13.5, 6.7 and 3.4).
``parameter_bytes`` is that figure. What is allocated is more: scales and zeros of every group,
columns padded to whole tiles, an embedding that stays at 8 bits. ``allocated_bytes`` is that one,
by the rules of ``engine.quant.linear``, ``engine.quant.embedding`` and the native core's packing,
and the loader's own ``weights_bytes`` is what tests hold it to. Imports no torch.
"""

from dataclasses import dataclass

from engine.api import KVPrecision, Precision
from engine.model.footprint.blueprint import Blueprint, Product

_GROUP = 32  # a table of 8-bit groups: values that share a scale
_PAIR_BYTES = 4  # a bfloat16 scale and zero
_TILE = 64  # INT4: outputs of one packed tile
_NF4_BLOCK = 64  # CUDA's INT4: weights that share a float maximum
_INT8_ROW_BYTES = 8  # a float scale and an int32 zero point
_TABLE_ROW_BYTES = 4
_CORE_GROUP = 32  # the native core: columns of a group, rows of a block, bytes of a block's group
_CORE_BLOCK_ROWS = 16
_CORE_INT4_BYTES, _CORE_EVEN_BYTES = 256 + 64, 256 + 32
_CORE_INT8_BYTES = 512 + 32
_CORE_LINE = 64
_BITS = {Precision.FP32: 32, Precision.BF16: 16, Precision.INT8: 8, Precision.INT4: 4}


@dataclass(frozen=True, slots=True)
class Target:
    """What the weights are packed for. ``has_core``: the native core is there."""

    is_cuda: bool = False
    has_native_bf16: bool = False
    has_fast_int4: bool = True
    has_fast_int8: bool = True
    has_core: bool = False

    def takes(self, product: Product) -> bool:
        """Whether the native core multiplies by a matrix of this shape."""
        return self.has_core and not self.is_cuda and product.columns % _CORE_GROUP == 0

    def compute_bytes(self, precision: Precision) -> int:
        """Bytes of a value in the type the decoder computes in."""
        if precision is Precision.FP32:
            return 4
        if self.is_cuda or (precision is Precision.BF16 and self.has_native_bf16):
            return 2
        return 4


def resolve_precision(blueprint: Blueprint, wanted: Precision) -> Precision:
    """What AUTO stands for: INT4 for 4-bit files, else INT8."""
    if wanted is not Precision.AUTO:
        return wanted
    return Precision.INT4 if blueprint.is_four_bit else Precision.INT8


def default_kv(blueprint: Blueprint, precision: Precision, target: Target) -> KVPrecision:
    """How the engine keeps its cache for weights of ``precision``, which is not AUTO.

    INT8 where whole layers run in native code, which multiplies it as it lies: the longer the
    context the faster, and beside quantised weights as exact as 16 bits. Elsewhere as the decoder
    computes.
    """
    is_native = target.has_core and not target.is_cuda and blueprint.has_native_step
    if is_native and precision in {Precision.INT8, Precision.INT4}:
        return KVPrecision.INT8
    return KVPrecision.FP32 if target.compute_bytes(precision) == 4 else KVPrecision.BF16


def parameter_bytes(num_parameters: int, precision: Precision) -> int:
    """Bits a parameter times parameters, in bytes. ``precision`` is not AUTO."""
    return num_parameters * _BITS[precision] // 8


def allocated_bytes(blueprint: Blueprint, precision: Precision, target: Target) -> int:
    """Bytes the engine's weights take once they are loaded. ``precision`` is not AUTO."""
    layers = sum(
        product.copies * product_bytes(product, blueprint, precision, target)
        for product in blueprint.products
    )
    vectors = blueprint.vector_values * target.compute_bytes(precision)
    head = head_bytes(blueprint, precision, target)
    return layers + vectors + head + _table_bytes(blueprint, precision, target)


def layer_bytes(blueprint: Blueprint, precision: Precision, target: Target) -> list[int]:
    """Bytes of each layer's weights; what belongs to no one layer is spread evenly."""
    layers = [0] * blueprint.num_layers
    spread = blueprint.vector_values * target.compute_bytes(precision)
    for product in blueprint.products:
        size = product.copies * product_bytes(product, blueprint, precision, target)
        if product.layer is not None and product.layer < len(layers):
            layers[product.layer] += size
        else:
            spread += size
    return [size + spread // len(layers) for size in layers]


def embedding_bytes(blueprint: Blueprint, precision: Precision, target: Target) -> int:
    """Bytes of the embedding where no head shares its memory."""
    values, rows = blueprint.table_values, blueprint.vocab_size
    match blueprint.table_form:
        case "8-bit groups":
            return values + values // _GROUP * 2
        case "8-bit rows":
            return values + rows * _TABLE_ROW_BYTES
        case "16 bits":
            return values * 2
        case "32 bits":
            return values * target.compute_bytes(precision)


def product_bytes(
    product: Product, blueprint: Blueprint, precision: Precision, target: Target
) -> int:
    """Bytes of one copy of a layer's product, or of a head that shares nothing."""
    if product.is_exact:
        return product.size * 4
    return _packed(product, _kind(product, blueprint, precision, target), target)


def head_bytes(blueprint: Blueprint, precision: Precision, target: Target) -> int:
    """Bytes the product for the logits reads, an embedding it shares included."""
    head = blueprint.head_product
    if _shares_core_table(blueprint, precision, target):
        is_four_bit = precision is Precision.INT4 and blueprint.is_table_four_bit
        return _core_bytes(head, Precision.INT4 if is_four_bit else Precision.INT8)
    if _shares_int8_table(blueprint, precision, target):
        return head.rows * (head.columns + _TABLE_ROW_BYTES)
    return product_bytes(head, blueprint, precision, target)


def _kind(
    product: Product, blueprint: Blueprint, precision: Precision, target: Target
) -> Precision:
    """The precision a matrix ends up in; FP32 stands for the compute type."""
    is_wider = blueprint.is_four_bit and not product.is_four_bit
    if precision is Precision.INT4 and is_wider:  # stays at the bits the file gives it
        precision = Precision.INT8
    if target.is_cuda or target.takes(product):
        return precision
    can_pack = product.columns % product.group == 0 and target.has_fast_int4
    if precision is Precision.INT4 and not can_pack:
        precision = Precision.INT8
    if precision is Precision.INT8 and not target.has_fast_int8:
        return Precision.FP32
    return precision


def _packed(product: Product, kind: Precision, target: Target) -> int:
    rows, columns = product.rows, product.columns
    match kind:
        case Precision.INT4 | Precision.INT8 if target.takes(product):
            size = _core_bytes(product, kind)
        case Precision.INT4 if target.is_cuda:
            size = product.size // 2 + -(-product.size // _NF4_BLOCK) * 4
        case Precision.INT4:
            padded = -(-rows // _TILE) * _TILE
            size = padded * columns // 2 + padded * (columns // product.group) * _PAIR_BYTES
        case Precision.INT8 if target.is_cuda:
            size = rows * (columns + 4)
        case Precision.INT8:
            size = rows * (columns + _INT8_ROW_BYTES)
        case Precision.BF16:
            size = product.size * 2
        case _:
            size = product.size * 4
    return size


def _core_bytes(product: Product, kind: Precision) -> int:
    """Bytes in the native core's layout: blocks of 16 rows, in whole cache lines."""
    group_bytes = _CORE_INT8_BYTES
    if kind is Precision.INT4:
        group_bytes = _CORE_EVEN_BYTES if product.is_even else _CORE_INT4_BYTES
    block = product.columns // _CORE_GROUP * group_bytes
    return -(-product.rows // _CORE_BLOCK_ROWS) * -(-block // _CORE_LINE) * _CORE_LINE


def _shares_core_table(blueprint: Blueprint, precision: Precision, target: Target) -> bool:
    is_packed = precision in {Precision.INT4, Precision.INT8}
    return blueprint.head is None and is_packed and target.takes(blueprint.head_product)


def _shares_int8_table(blueprint: Blueprint, precision: Precision, target: Target) -> bool:
    if blueprint.head is not None or target.is_cuda or not target.has_fast_int8:
        return False
    is_wide = precision is Precision.INT4 and not blueprint.is_table_four_bit
    return precision is Precision.INT8 or is_wide


def _table_bytes(blueprint: Blueprint, precision: Precision, target: Target) -> int:
    """Bytes of the embedding beside those of the head."""
    if blueprint.head is None:
        is_dense = precision in {Precision.FP32, Precision.BF16}
        is_shared = _shares_core_table(blueprint, precision, target) or _shares_int8_table(
            blueprint, precision, target
        )
        if is_dense or is_shared:
            return 0
    return embedding_bytes(blueprint, precision, target)
