"""Turn what ModelOptions leaves open into a ResolvedConfig, and refuse what does not fit.

Decides from the checkpoint's header and the machine's memory; allocates nothing.
"""

import bisect
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import torch

from engine.api import Device, KVPrecision, ModelOptions, Precision
from engine.config import KVFormat, KVGeometry, LayerGroup, ResolvedConfig
from engine.devices import find_gpu, has_native_bf16, physical_cores, read_memory
from engine.errors import InvalidRequestError, OutOfMemoryError
from engine.kv.compressed_geometry import CompressedGeometry, EntryForm
from engine.model.config import ModelConfig
from engine.model.footprint.cache import BLOCK_TOKENS, Pool, whole_blocks
from engine.model.footprint.checkpoint import blueprint_of
from engine.model.footprint.fit import Demand, Fitter, Mode, Place, Shortage
from engine.model.footprint.target import target_of
from engine.model.footprint.weights import allocated_bytes, default_kv, resolve_precision
from engine.model.source import Checkpoint

BLOCK_SIZE = BLOCK_TOKENS
_MIN_CONTEXT = 16
_MAX_THREADS = 1_024
_MAX_STREAMS = 4_096
_MAX_BATCH_TOKENS = 1 << 16
_FULL_CONTEXTS = 4  # the default cache holds up to so many,
_MOST_TOKENS = 1 << 32
_MEMORY_SHARE = 0.05  # as long as that is at most this share of the memory


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
    options = _within(options, source.config)
    _check_options(options, source.config)
    blueprint = blueprint_of(source)
    precision = resolve_precision(blueprint, options.weights)
    compute_dtype = _compute_dtype(precision, machine)
    place = _place(options, machine)
    kv = options.kv
    if kv is KVPrecision.AUTO:
        kv = default_kv(blueprint, precision, place.target)
    kept = _check_format(_kv_format(kv, compute_dtype), source.config)
    one_block = _one_block(source.config, kept, compute_dtype)
    host = None if machine.host is None else _place(options, machine.host)
    fitter = Fitter(blueprint, Mode(precision, kv, chunk=options.max_batch_tokens), place, host)
    kv_bytes = fitter.kv_bytes
    if isinstance(one_block, CompressedGeometry):
        kv_bytes = partial(_entry_bytes, one_block)
    found = fitter.fit(_demand(options, source.config, machine, kv_bytes))
    if isinstance(found, Shortage):
        raise out_of_memory(found.needed, found.available)
    if machine.host is not None and found.cpu_layers == source.config.num_layers:
        return resolve(options, source, machine.host)
    if source.config.compression is not None and found.cpu_layers and machine.host is not None:
        return resolve(options, source, machine.host)  # its layers run on one device
    pool = Pool(found.pool, found.context, options.max_batch_tokens)
    return ResolvedConfig(
        path=options.path,
        precision=precision,
        device=machine.device,
        threads=options.threads or machine.physical_cores,
        compute_dtype=dtype_name(compute_dtype),
        kv_dtype=kept.value,
        context_length=found.context,
        kv=_laid_out(one_block, source.config, pool),
        kv_cache=options.kv_cache,
        # a compressed prefix is worth nothing without the state at its end
        prefix_cache=options.prefix_cache and source.config.compression is None,
        max_batch_tokens=options.max_batch_tokens,
        max_streams=options.max_streams,
        cpu_layers=found.cpu_layers,
        cpu_dtype=dtype_name(_compute_dtype(precision, machine.host or machine)),
    )


def weights_bytes(source: Checkpoint, precision: Precision, device: Device) -> int:
    """What the weights will take on ``device``. ``precision`` is not AUTO."""
    return allocated_bytes(blueprint_of(source), precision, target_of(device))


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


def _within(options: ModelOptions, config: ModelConfig) -> ModelOptions:
    """One setting serves all models: of a longer context than this one's, its own is left."""
    if options.context_length is None:
        return options
    longest = min(options.context_length, config.max_position_embeddings)
    return replace(options, context_length=longest)


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


def _place(options: ModelOptions, machine: Machine) -> Place:
    is_cuda = machine.device is Device.CUDA
    return Place(
        machine.available_bytes,
        target_of(machine.device, has_native_bf16=machine.has_native_bf16),
        options.gpu_budget_bytes if is_cuda else None,
    )


def _demand(
    options: ModelOptions,
    config: ModelConfig,
    machine: Machine,
    kv_bytes: Callable[[int, int], int],
) -> Demand:
    """What was asked for by number must fit as it is; what was left open shrinks to fit.

    An open cache holds several contexts as long as they are a small part of the memory.
    ``kv_bytes``: of a cache for requests of up to so many tokens, that holds so many.
    """
    wanted = options.context_length or config.max_position_embeddings
    one_context = whole_blocks(wanted)
    if options.kv_budget_bytes is not None:
        pool = least = _largest_pool(options.kv_budget_bytes, wanted, kv_bytes)
    else:
        modest = _largest_pool(int(machine.total_bytes * _MEMORY_SHARE), wanted, kv_bytes)
        pool = max(one_context, min(_FULL_CONTEXTS * one_context, modest))
        least = BLOCK_SIZE if options.context_length is None else one_context
    is_open = options.context_length is None and options.kv_budget_bytes is None
    return Demand(wanted, pool, least, is_open=is_open)


def _largest_pool(budget: int, context: int, kv_bytes: Callable[[int, int], int]) -> int:
    """Tokens of the largest cache within ``budget`` bytes; one block at least."""

    def size(num_blocks: int) -> int:
        tokens = num_blocks * BLOCK_SIZE
        return kv_bytes(min(context, tokens), tokens)

    most = 1
    while size(most) <= budget and most * BLOCK_SIZE < _MOST_TOKENS:
        most *= 2
    return max(1, bisect.bisect_right(range(1, most), budget, key=size)) * BLOCK_SIZE


def _entry_bytes(one_block: KVGeometry, _context: int, tokens: int) -> int:
    """Of the blocks of a compressed cache; the states of requests come on top."""
    return -(-tokens // one_block.block_size) * one_block.bytes_per_block


def _laid_out(one_block: KVGeometry, config: ModelConfig, pool: Pool) -> KVGeometry:
    """The cache as ``engine.model.footprint.cache`` counts it, layer by layer."""
    blocks = -(-pool.tokens // one_block.block_size)
    has_windows = config.compression is None and any(config.sliding_layers)
    window_blocks = pool.window_blocks(config.sliding_window if has_windows else None)
    if window_blocks is None:
        return replace(one_block, num_blocks=blocks)
    layers = range(config.num_layers)
    full = tuple(layer for layer in layers if not config.is_sliding(layer))
    sliding = tuple(layer for layer in layers if config.is_sliding(layer))
    chunk = min(pool.chunk, pool.context)
    groups = [LayerGroup(full, blocks)] if full else []
    groups.append(LayerGroup(sliding, window_blocks, config.sliding_window, chunk))
    return replace(one_block, num_blocks=groups[0].num_blocks, groups=tuple(groups))


def _kv_format(wanted: KVPrecision, compute_dtype: torch.dtype) -> KVFormat:
    match wanted:
        case KVPrecision.AUTO | KVPrecision.FP32:
            return KVFormat.FLOAT32
        case KVPrecision.BF16:
            # float16 has three more bits, and range enough
            is_bfloat = compute_dtype == torch.bfloat16
            return KVFormat.BFLOAT16 if is_bfloat else KVFormat.FLOAT16
        case KVPrecision.INT8:
            return KVFormat.INT8
        case KVPrecision.INT4:
            return KVFormat.INT4


def _check_format(kept: KVFormat, config: ModelConfig) -> KVFormat:
    shape = config.compression
    widths = [config.head_dim, *([] if shape is None else [shape.index_dim])]
    if not all(map(kept.can_keep, widths)):
        raise InvalidRequestError(
            f"This model's heads of {config.head_dim} values cannot be kept in {kept.upper()}; "
            "choose 16 bits for the KV cache.",
            reason=f"kv cannot be {kept.value}",
        )
    return kept


def _one_block(config: ModelConfig, kept: KVFormat, compute_dtype: torch.dtype) -> KVGeometry:
    shape = config.compression
    if shape is not None:
        return CompressedGeometry(
            num_layers=config.num_layers,
            num_kv_heads=config.num_kv_heads,
            head_dim=config.head_dim,
            block_size=shape.block_size,
            num_blocks=1,
            format=KVFormat(dtype_name(compute_dtype)),
            compression=shape,
            form=EntryForm(kept.value),
        )
    return KVGeometry(
        num_layers=config.num_layers,
        num_kv_heads=config.num_kv_heads,
        head_dim=config.head_dim,
        block_size=BLOCK_SIZE,
        num_blocks=1,
        format=kept,
    )
