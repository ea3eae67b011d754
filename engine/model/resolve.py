"""Turn what ModelOptions leaves open into a ResolvedConfig, and refuse what does not fit.

Decides from the checkpoint's header and the machine's memory; allocates nothing.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch

from engine.api import Device, ModelOptions, Precision
from engine.config import KVFormat, KVGeometry, ResolvedConfig
from engine.devices import find_gpu, has_native_bf16, physical_cores, read_memory
from engine.errors import InvalidRequestError, OutOfMemoryError
from engine.model.config import ModelConfig
from engine.model.offload import Split, by_layer, split_layers
from engine.model.source import Checkpoint, Shape

BLOCK_SIZE = 16
_MIN_CONTEXT = 16
_MAX_THREADS = 1_024
_MAX_STREAMS = 4_096
_MAX_BATCH_TOKENS = 1 << 16
_FULL_CONTEXTS = 4  # the default cache holds up to so many,
_MEMORY_SHARE = 0.05  # as long as that is at most this share of the memory
_USEFUL_CONTEXT = 4_096  # tokens; rather than have fewer, a GPU leaves layers to the CPU
_RESERVE_BYTES = 256 << 20  # activations, the interpreter, the window
_PACKING_BYTES = 4  # a value, while the largest matrix is decoded and packed
_BYTES_PER_WEIGHT = {
    Precision.INT4: 0.5 + 4 / 32,  # a bfloat16 scale and zero for each group of 32
    Precision.INT8: 1.0,
    Precision.BF16: 2.0,
    Precision.FP32: 4.0,
}


@dataclass(frozen=True, slots=True)
class Machine:
    """What the decisions depend on. ``available_bytes`` is the chosen device's free memory.

    ``host``: the computer around a GPU, which takes the layers that do not fit on it.
    """

    device: Device
    total_bytes: int
    available_bytes: int
    has_native_bf16: bool
    physical_cores: int
    host: "Machine | None" = None


@dataclass(frozen=True, slots=True)
class _Needs:
    """Bytes of the weights, of all parameters by name, and of packing the largest of them."""

    weights: int
    sizes: Mapping[str, int]
    packing: int

    @classmethod
    def of(cls, shapes: Mapping[str, Shape], precision: Precision) -> "_Needs":
        sizes = {n: estimate_weights({n: shape}, precision) for n, shape in shapes.items()}
        packing = max(math.prod(shape) for shape in shapes.values()) * _PACKING_BYTES
        return cls(estimate_weights(shapes, precision), sizes, packing)


def choose_machine(wanted: Device) -> Machine:
    """Look for the wanted device; AUTO takes the GPU when there is one.

    Raises InvalidRequestError if CUDA is wanted and there is none.
    """
    gpu = find_gpu() if wanted is not Device.CPU else None
    cores = physical_cores()
    memory = read_memory()
    host = Machine(
        Device.CPU, memory.total_bytes, memory.available_bytes, has_native_bf16(), cores
    )
    if gpu is not None:
        return Machine(
            Device.CUDA, gpu.total_bytes, gpu.free_bytes, gpu.has_native_bf16, cores, host
        )
    if wanted is Device.CUDA:
        raise InvalidRequestError(
            "No CUDA graphics card was found; choose the CPU instead.", reason="no CUDA device"
        )
    return host


def resolve(options: ModelOptions, source: Checkpoint, machine: Machine) -> ResolvedConfig:
    """Make every choice.

    A model that does not fit on the GPU is split; one of which the GPU cannot hold a single layer
    goes to the CPU. Raises InvalidRequestError (an option out of range) or OutOfMemoryError
    (weights, or weights and the cache asked for, are larger than the free memory).
    """
    _check_options(options, source.config)
    precision = options.weights
    if precision is Precision.AUTO:
        precision = Precision.INT4 if source.is_four_bit else Precision.INT8
    compute_dtype = _compute_dtype(precision, machine)
    needs = _Needs.of(source.shapes, precision)
    cpu_layers = 0
    try:
        context_length, geometry = _fit_whole(options, source, compute_dtype, machine, needs)
    except OutOfMemoryError:
        if machine.host is None:
            raise
        context_length, geometry = _size_split_cache(
            options, source, compute_dtype, machine, needs
        )
        split = _split(options, source, machine, needs, geometry)
        cpu_layers = split.cpu_layers
        if cpu_layers == source.config.num_layers:
            return resolve(options, source, machine.host)
    return ResolvedConfig(
        path=options.path,
        precision=precision,
        device=machine.device,
        threads=options.threads or machine.physical_cores,
        compute_dtype=dtype_name(compute_dtype),
        kv_dtype=dtype_name(compute_dtype),
        context_length=context_length,
        kv=geometry,
        kv_cache=options.kv_cache,
        prefix_cache=options.prefix_cache,
        max_batch_tokens=options.max_batch_tokens,
        max_streams=options.max_streams,
        cpu_layers=cpu_layers,
        cpu_dtype=dtype_name(_compute_dtype(precision, machine.host or machine)),
    )


def estimate_weights(shapes: Mapping[str, Shape], precision: Precision) -> int:
    """About how many bytes the weights will take, from their shapes alone."""
    matrices = sum(math.prod(shape) for shape in shapes.values() if len(shape) == 2)
    vectors = sum(math.prod(shape) for shape in shapes.values() if len(shape) == 1)
    return int(matrices * _BYTES_PER_WEIGHT[precision]) + vectors * 4


def out_of_memory(needed: int, available: int) -> OutOfMemoryError:
    """The error for a model that does not fit."""
    return OutOfMemoryError(
        f"This model needs about {needed / 1e9:.1f} GB of free memory, and {available / 1e9:.1f} "
        "GB are free. Close other programs, or choose INT4 weights or a shorter context.",
        needed=needed,
        available=available,
    )


def dtype_name(dtype: torch.dtype) -> str:
    """The name ResolvedConfig uses, e.g. "float32"."""
    return str(dtype).removeprefix("torch.")


def _check_options(options: ModelOptions, config: ModelConfig) -> None:
    trained = config.max_position_embeddings
    ranges = {
        "context_length": (options.context_length, _MIN_CONTEXT, trained),
        "threads": (options.threads, 1, _MAX_THREADS),
        "max_batch_tokens": (options.max_batch_tokens, 1, _MAX_BATCH_TOKENS),
        "max_streams": (options.max_streams, 1, _MAX_STREAMS),
    }
    for name, (value, low, high) in ranges.items():
        if value is not None and not low <= value <= high:
            raise InvalidRequestError(
                f"{name} is {value}; choose from {low} to {high}.",
                reason=f"{name} must be from {low} to {high}",
            )
    if options.gpu_budget_bytes is not None and options.gpu_budget_bytes < 0:
        raise InvalidRequestError(
            "The memory to use on the graphics card cannot be less than nothing.",
            reason="gpu_budget_bytes must not be negative",
        )
    if options.kv_budget_bytes is not None and options.kv_budget_bytes <= 0:
        raise InvalidRequestError(
            "The memory for the KV cache must be more than nothing.",
            reason="kv_budget_bytes must be positive",
        )


def _compute_dtype(precision: Precision, machine: Machine) -> torch.dtype:
    if precision is Precision.FP32:
        return torch.float32
    if machine.device is Device.CUDA:
        return torch.bfloat16 if machine.has_native_bf16 else torch.float16
    if precision is Precision.BF16 and machine.has_native_bf16:
        return torch.bfloat16
    # the CPU's INT8 and INT4 products convert their input themselves
    return torch.float32


def _budget(options: ModelOptions, machine: Machine) -> int:
    """Bytes that weights and cache may take on the machine's device."""
    free = machine.available_bytes - _RESERVE_BYTES
    if machine.device is Device.CUDA and options.gpu_budget_bytes is not None:
        return min(free, options.gpu_budget_bytes)
    return free


def _fit_whole(
    options: ModelOptions, source: Checkpoint, dtype: torch.dtype, machine: Machine, needs: _Needs
) -> tuple[int, KVGeometry]:
    """Context length and pool for all layers on the machine's device.

    A GPU whose computer could take some layers is not filled up with weights until no context
    worth having is left.
    """
    room = _budget(options, machine) - needs.weights
    too_large = out_of_memory(
        needs.weights + needs.packing + _RESERVE_BYTES, machine.available_bytes
    )
    if room < needs.packing:
        raise too_large
    context_length, geometry = _size_cache(options, source.config, dtype, machine, room)
    if machine.host is not None and context_length < _useful_context(options, source.config):
        raise too_large
    return context_length, geometry


def _size_split_cache(
    options: ModelOptions, source: Checkpoint, dtype: torch.dtype, machine: Machine, needs: _Needs
) -> tuple[int, KVGeometry]:
    """Context length and pool for layers on both devices."""
    host = machine.host or machine
    # with no memory to be called plentiful, one context is all there is
    both = replace(
        machine, total_bytes=0, available_bytes=machine.available_bytes + host.available_bytes
    )
    budget = max(0, _budget(options, machine))
    room = budget + host.available_bytes - _RESERVE_BYTES - needs.weights - needs.packing
    if options.context_length is None and options.kv_budget_bytes is None:
        # the GPU's memory is better spent on layers than on a context nobody asked for
        useful = -(-_useful_context(options, source.config) // BLOCK_SIZE)
        least = _geometry(source.config, dtype, useful).total_bytes
        room = min(room, max(budget // 4, least))
    return _size_cache(options, source.config, dtype, both, room)


def _split(
    options: ModelOptions,
    source: Checkpoint,
    machine: Machine,
    needs: _Needs,
    geometry: KVGeometry,
) -> Split:
    """Where to cut; raises OutOfMemoryError when the computer cannot hold its part."""
    host, config = machine.host or machine, source.config
    parts = by_layer(
        needs.sizes,
        config.num_layers,
        is_tied=config.tie_word_embeddings,
        kv_layer=geometry.total_bytes // config.num_layers,
    )
    split = split_layers(parts, _budget(options, machine) - needs.packing)
    needed = split.cpu_bytes + needs.packing + _RESERVE_BYTES
    if needed > host.available_bytes:
        raise out_of_memory(needed, host.available_bytes)
    return split


def _useful_context(options: ModelOptions, config: ModelConfig) -> int:
    return options.context_length or min(config.max_position_embeddings, _USEFUL_CONTEXT)


def _size_cache(
    options: ModelOptions,
    config: ModelConfig,
    dtype: torch.dtype,
    machine: Machine,
    room: int,
) -> tuple[int, KVGeometry]:
    """Context length and pool, within ``room`` bytes.

    What was asked for by number must fit as it is; what was left open shrinks to fit.
    """
    one_block = _geometry(config, dtype, 1).bytes_per_block
    fits = room // one_block
    wanted = options.context_length or config.max_position_embeddings
    needed = -(-wanted // BLOCK_SIZE)
    if options.kv_budget_bytes is not None:
        blocks = max(1, options.kv_budget_bytes // one_block)
        must_fit = blocks
    else:
        modest = int(machine.total_bytes * _MEMORY_SHARE) // one_block
        blocks = max(needed, min(_FULL_CONTEXTS * needed, modest))
        must_fit = needed if options.context_length is not None else 1
    if must_fit > fits:
        available = machine.available_bytes
        raise out_of_memory(available - room + must_fit * one_block, available)
    blocks = min(blocks, fits)
    return min(wanted, blocks * BLOCK_SIZE), _geometry(config, dtype, blocks)


def _geometry(config: ModelConfig, dtype: torch.dtype, num_blocks: int) -> KVGeometry:
    return KVGeometry(
        num_layers=config.num_layers,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        block_size=BLOCK_SIZE,
        num_blocks=num_blocks,
        format=KVFormat(dtype_name(dtype)),
    )
