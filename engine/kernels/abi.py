"""The structures and functions of the native core as ctypes sees them: ``native/core.h`` in Python.

Knows nothing of tensors and decides nothing.
"""

import ctypes
from ctypes import POINTER, Structure, c_char_p, c_float, c_int32, c_int64, c_void_p

VERSION = 6  # of this file and of core.h: TT_VERSION there
KIND_INT4, KIND_INT8_GROUPED, KIND_INT8_ROWS, KIND_INT4_EVEN = range(4)
ACTIVATIONS = {"silu": 0, "gelu_tanh": 1}
KV_FP32, KV_BF16, KV_FP16, KV_INT8, KV_INT4 = range(5)


class Matrix(Structure):
    """tt_matrix."""

    _fields_ = (
        ("rows", c_int64),
        ("columns", c_int64),
        ("data", c_void_p),
        ("gain", c_float),
        ("kind", c_int32),
    )


class Layer(Structure):
    """tt_layer."""

    _fields_ = (
        ("qkv", POINTER(Matrix)),
        ("o", POINTER(Matrix)),
        ("gate_up", POINTER(Matrix)),
        ("down", POINTER(Matrix)),
        ("attention_norm", c_void_p),
        ("post_attention_norm", c_void_p),
        ("ffn_norm", c_void_p),
        ("post_ffn_norm", c_void_p),
        ("qk_norm", c_void_p),
        ("qkv_bias", c_void_p),
        ("rotation", c_int32),
        ("window", c_int32),
    )


class Model(Structure):
    """tt_model."""

    _fields_ = (
        ("layers", POINTER(Layer)),
        ("head", POINTER(Matrix)),
        ("norm", c_void_p),
        ("hidden", c_int64),
        ("intermediate", c_int64),
        ("num_layers", c_int32),
        ("num_heads", c_int32),
        ("num_kv_heads", c_int32),
        ("head_dim", c_int32),
        ("rotary_half", c_int32),
        ("activation", c_int32),
        ("norm_eps", c_float),
        ("attention_scale", c_float),
        ("residual_scale", c_float),
        ("reserved", c_float),
    )


class Rotation(Structure):
    """tt_rotation."""

    _fields_ = (("cosines", c_void_p), ("sines", c_void_p), ("stride", c_int64))


class Cache(Structure):
    """tt_cache."""

    _fields_ = (
        ("pool", c_void_p),
        ("parameters", c_void_p),
        ("factors", c_void_p),
        ("centres", c_void_p),
        ("segments", c_void_p),
        ("slots", c_void_p),
        ("num_slots", c_int64),
    )


class Batch(Structure):
    """tt_batch."""

    _fields_ = (
        ("embedded", c_void_p),
        ("positions", c_void_p),
        ("logit_rows", c_void_p),
        ("blocks", c_void_p),
        ("rotations", POINTER(Rotation)),
        ("caches", POINTER(Cache)),
        ("kinds", POINTER(c_int32)),
        ("places", POINTER(c_int32)),
        ("logits", c_void_p),
        ("rows", c_int64),
        ("num_logits", c_int64),
        ("num_segments", c_int64),
        ("block_size", c_int32),
        ("kv_type", c_int32),
        ("part_ns", c_void_p),
    )


def declare(library: ctypes.CDLL) -> ctypes.CDLL:
    """Give the functions of ``library`` their types.

    Raises AttributeError where one is missing, and OSError for another version.
    """
    matrix = POINTER(Matrix)
    pack = [c_int32, c_int64, c_int64, c_void_p, c_void_p, c_void_p, c_void_p, c_void_p]
    run = [c_void_p, c_void_p, c_int32, POINTER(Batch), c_int32, c_int32]
    signatures = {
        "tt_version": (c_int32, []),
        "tt_instruction_sets": (c_char_p, []),
        "tt_team_new": (c_void_p, [c_char_p, c_int32]),
        "tt_team_free": (None, [c_void_p]),
        "tt_packed_bytes": (c_int64, [c_int32, c_int64, c_int64]),
        "tt_pack": (None, pack),
        "tt_unpack_rows": (None, [matrix, c_void_p, c_int64, c_void_p]),
        "tt_multiply": (c_int32, [c_void_p, c_int32, matrix, c_void_p, c_int64, c_void_p]),
        "tt_dots": (c_int64, [c_void_p, c_int32, c_int64]),
        "tt_step_new": (c_void_p, [POINTER(Model)]),
        "tt_step_free": (None, [c_void_p]),
        "tt_step_run": (c_int32, run),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    if library.tt_version() != VERSION:
        raise OSError(f"version {library.tt_version()} of the native core, not {VERSION}")
    return library
