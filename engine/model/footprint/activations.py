"""Working memory beside weights and cache: the rows of one step, and the copy a load makes."""

from engine.model.footprint.blueprint import Blueprint
from engine.model.footprint.cache import CHUNK_TOKENS, kv_bits
from engine.model.footprint.setup import Setup

_ROW_BLOCK = 128  # rows that attend at a time
_HIDDEN_COPIES = 4  # the stream, its norm, the mixed heads, the block's output
_UNPACK_BYTES = 3 * 4 * (1 << 19)  # INT4: columns unpacked at a time, with their scales
_PACKING_BYTES = 4  # a value, while the largest matrix is decoded and packed


def activation_bytes(blueprint: Blueprint, setup: Setup) -> int:
    """The most a step takes: a full chunk of a prompt, and logits for every stream.

    A layer's cached entries are counted once more as they are computed with: a cache whose blocks
    are scattered, or kept narrower than that, is read through one copy of a layer.
    """
    rows = min(CHUNK_TOKENS, setup.context)
    layer = rows * (_HIDDEN_COPIES * blueprint.hidden_size + 2 * blueprint.widest_row) * 4
    mask = min(rows, _ROW_BLOCK) * setup.context * 4
    logits = 2 * setup.streams * blueprint.vocab_size * 4
    widest = max((t.width * t.attended(setup.context) for t in blueprint.tracks), default=0)
    compute = setup.target.compute_bytes(setup.precision)
    bits = kv_bits(setup.kv)
    gathered = bits / 8 if bits < 8 * compute else 0.0
    return int(layer + mask + logits + widest * (compute + gathered)) + _UNPACK_BYTES


def packing_bytes(blueprint: Blueprint, layers: int) -> int:
    """What the load holds for a moment beside the weights: a matrix in floats.

    Of the layers it is the largest, packed when all else may be there. The head is packed first,
    while the ``layers`` (their bytes once packed) still lie in the file.
    """
    largest = max(product.size for product in blueprint.products)
    return max(largest * _PACKING_BYTES, blueprint.head_product.size * _PACKING_BYTES - layers)
