"""From ModelOptions to a model that answers: read, check, resolve, pack, warm up.

Knows the order and what may go wrong; each step lives in its own module. Runs in the engine
thread; reports progress and asks for cancellation through the two functions it is given.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import torch

from engine.api import Device, LoadProgress, LoadStage, ModelInfo, ModelOptions, Precision
from engine.config import ResolvedConfig
from engine.devices import cpu_name, find_gpu, read_memory
from engine.errors import LoadCancelledError, ModelMissingError, ModelUnsupportedError
from engine.kv.compressed import CompressedStorage
from engine.kv.compressed_geometry import CompressedGeometry
from engine.kv.group import pools_of
from engine.kv.grouped import make_storage
from engine.kv.split import SplitStorage
from engine.kv.storage import PagedStorage
from engine.model.architectures.deepseek_v4.config import is_v4
from engine.model.architectures.deepseek_v4.decoder import V4Decoder
from engine.model.architectures.deepseek_v4.source import V4Source
from engine.model.balance import balance_keys
from engine.model.batch import Decoder
from engine.model.calibrated import build_calibrated
from engine.model.compat.gguf_families import FAMILIES
from engine.model.gguf import MetadataValue
from engine.model.gguf_source import GgufSource
from engine.model.gguf_split import open_gguf
from engine.model.hf_source import HfSource
from engine.model.native import NativeDecoder
from engine.model.offloaded import OffloadedDecoder, Place
from engine.model.offloaded_int4 import int4_first_layers
from engine.model.resolve import choose_machine, out_of_memory, resolve, weights_bytes
from engine.model.rope import describe_scaling
from engine.model.source import Checkpoint, WeightSource
from engine.model.text_parts import check_vocabulary, read_folder_text_parts, read_text_parts
from engine.model.warm_up import warm_up
from engine.model.weight_cache import int4_source
from engine.text.template import ChatTemplate
from engine.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from engine.model.compat.gguf_source import CompatGgufSource
    from engine.model.compat.source import CompatSource

    Source = GgufSource | HfSource | V4Source | CompatSource | CompatGgufSource

Progress = Callable[[LoadProgress], None]
Question = Callable[[], bool]

_PICKLED = frozenset({".bin", ".pt", ".pth", ".ckpt", ".pickle", ".pkl"})
# Packing small matrices gains nothing from more threads, and loses to whoever shares the cores.
_SMALL_FILE_BYTES = 512 << 20


class LoadedDecoder(Decoder, Protocol):
    """A decoder as the loader makes it."""

    @property
    def kernels(self) -> tuple[str, ...]:
        """Which product runs each part, in words for the model sheet."""
        ...

    def set_context(self, context_length: int) -> None:
        """Say how many tokens a request may have, at most."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class LoadedModel:
    """A model ready to answer, and everything that was decided about it."""

    decoder: LoadedDecoder
    storage: PagedStorage
    tokenizer: Tokenizer
    template: ChatTemplate
    info: ModelInfo
    config: ResolvedConfig
    # what the context's length decided of the rotation of keys, and how an INT4 cache balances them
    rope: str | None = None


def open_checkpoint(path: str | Path) -> "Source":
    """Open a .gguf file or a folder of safetensors files, and check its header.

    What the native decoder cannot run is opened for the compatibility path.

    Raises ModelMissingError, ModelCorruptError or ModelUnsupportedError.
    """
    path = Path(path).expanduser()
    if path.is_dir():
        return _open_folder(path)
    if path.suffix.lower() in _PICKLED:
        raise ModelUnsupportedError(
            f"{path.name} may run code when it is opened. Choose a .gguf file, or a folder with "
            ".safetensors files.",
            path=str(path),
            feature="pickled weights",
        )
    if path.suffix.lower() == ".safetensors":
        return _open_folder(path.parent)
    return _open_gguf(path)


def _open_gguf(path: Path) -> "GgufSource | CompatGgufSource":
    try:
        return GgufSource.open(path)
    except ModelUnsupportedError:
        with closing(open_gguf(path)) as file:
            if file.metadata.get("general.architecture") not in FAMILIES:
                raise
        from engine.model.compat.gguf_source import (  # noqa: PLC0415 - imports transformers
            CompatGgufSource,
        )

        return CompatGgufSource.open(path)


def _open_folder(folder: Path) -> "HfSource | V4Source | CompatSource":
    if is_v4(folder):
        return V4Source.open(folder)
    try:
        return HfSource.open(folder)
    except ModelUnsupportedError:
        from engine.model.compat.source import (  # noqa: PLC0415 - imports transformers
            CompatSource,
        )

        return CompatSource.open(folder)


def load_model(
    options: ModelOptions, on_progress: Progress, is_cancelled: Question
) -> LoadedModel:
    """Load a model.

    Reads one tensor at a time: at its peak the memory holds the finished weights and the largest
    matrix. Sets torch's number of threads.

    Raises:
        ModelMissingError, ModelCorruptError, ModelUnsupportedError, TemplateError: the file.
        InvalidRequestError: an option is out of range.
        OutOfMemoryError: it does not fit in the free memory.
        LoadCancelledError: ``is_cancelled()`` turned true.
    """
    start_ns = time.perf_counter_ns()
    if not options.path:
        raise ModelMissingError("No model was chosen. Choose one in the settings.", path="")
    steps = _Steps(options.path, on_progress, is_cancelled)
    steps.report(LoadStage.READING_HEADER, 0, 1)
    with closing(open_checkpoint(options.path)) as source:
        steps.report(LoadStage.TOKENIZER, 0, 1)
        tokenizer, template = _text_parts(source)
        config = resolve(options, source, choose_machine(options.device))
        with _named_memory_errors(source, config):
            torch.set_num_threads(1 if source.file_bytes < _SMALL_FILE_BYTES else config.threads)
            is_calibrated = options.calibrated and _can_calibrate(source, config)
            if is_calibrated:
                torch.set_num_threads(config.threads)
            decoder = _build(source, config, steps, tokenizer if is_calibrated else None)
            decoder.set_context(config.context_length)
            steps.report(LoadStage.KV_CACHE, 0, 1)
            storage = _make_storage(config)
            length = config.context_length
            balance = balance_keys(decoder, storage, tokenizer, length, steps.is_cancelled)
            torch.set_num_threads(config.threads)
            warm_up(decoder, storage, partial(steps.report, LoadStage.WARM_UP), steps.is_cancelled)
        load_ns = time.perf_counter_ns() - start_ns
        info = _describe(source, config, decoder, load_ns, has_template=not template.is_plain)
        info = replace(info, is_calibrated=is_calibrated)
    rope = describe_scaling(source.config.rope_scaling, config.context_length)
    keys = ", ".join(filter(None, (rope, balance))) or None
    return LoadedModel(decoder, storage, tokenizer, template, info, config, keys)


class _Steps:
    """Progress out, cancellation in."""

    def __init__(self, path: str, on_progress: Progress, is_cancelled: Question) -> None:
        self._path = path
        self._on_progress = on_progress
        self.is_cancelled = is_cancelled

    def check(self) -> None:
        """Raise LoadCancelledError if the load is no longer wanted."""
        if self.is_cancelled():
            raise LoadCancelledError("Loading was stopped.")

    def report(self, stage: LoadStage, done: int, total: int) -> None:
        """Tell how far the load is; raises LoadCancelledError if it is no longer wanted."""
        self.check()
        self._on_progress(LoadProgress(self._path, stage, done, total))


def _text_parts(
    source: "Source",
) -> tuple[Tokenizer, ChatTemplate]:
    metadata: Mapping[str, MetadataValue] | None = getattr(source, "metadata", None)
    path = source.path if isinstance(source, GgufSource) else str(source.folder)
    if metadata is not None:  # a GGUF file has everything in its header
        tokenizer, template = read_text_parts(metadata, path)
    else:
        tokenizer, template = read_folder_text_parts(Path(path))
    check_vocabulary(tokenizer, source.config.vocab_size, path)
    return tokenizer, template


def _can_calibrate(source: "Source", config: ResolvedConfig) -> bool:
    """Whether INT4 weights are made of wider ones, all on the CPU."""
    is_made = config.precision is Precision.INT4 and not source.is_four_bit
    is_on_cpu = config.device is Device.CPU and not config.cpu_layers
    return isinstance(source, GgufSource | HfSource) and is_made and is_on_cpu


def _build(
    source: "Source", config: ResolvedConfig, steps: _Steps, calibrate_with: Tokenizer | None
) -> LoadedDecoder:
    # matrices that a 4-bit file keeps in more bits (the embedding, as a rule) stay at INT8
    is_as_filed = config.precision is Precision.INT4 and source.is_four_bit
    precision = Precision.AUTO if is_as_filed else config.precision

    def on_part(_done: int, _total: int) -> None:
        read = min(source.bytes_read, source.file_bytes)
        steps.report(LoadStage.WEIGHTS, read, source.file_bytes)

    dtype, device = _dtype(config.compute_dtype), _device(config)
    if isinstance(source, V4Source):
        return V4Decoder.build(source, precision, dtype, device, on_part, steps.is_cancelled)
    if isinstance(source, GgufSource | HfSource) and config.cpu_layers:
        return _build_split(source, config, precision, on_part, steps)
    if isinstance(source, GgufSource | HfSource):
        if precision is Precision.INT4 and device.type == "cpu":
            if calibrate_with is not None:
                return build_calibrated(source, _path_of(source), dtype, calibrate_with, steps)
            return _build_int4(source, dtype, device, steps)
        return NativeDecoder.build(source, precision, dtype, device, on_part, steps.is_cancelled)
    from engine.model.compat.decoder import CompatDecoder  # noqa: PLC0415 - imports transformers
    from engine.model.compat.dispatch import DevicePlan  # noqa: PLC0415 - imports accelerate

    plan = DevicePlan(device, config.cpu_layers)
    if config.cpu_layers and dtype == torch.float16:
        dtype = torch.float32  # the CPU's float16 is not to be relied on
    return CompatDecoder.build(source, precision, dtype, plan, on_part, steps.is_cancelled)


def _build_split(
    source: GgufSource | HfSource,
    config: ResolvedConfig,
    precision: Precision,
    on_part: Callable[[int, int], None],
    steps: _Steps,
) -> OffloadedDecoder:
    """Build with the first layers on the CPU; from wider weights, those are quantised well."""

    def build(lower_source: WeightSource) -> OffloadedDecoder:
        lower = Place(torch.device("cpu"), _dtype(config.cpu_dtype), lower_source)
        upper = Place(_device(config), _dtype(config.compute_dtype))
        return OffloadedDecoder.build(
            source, precision, config.cpu_layers, (lower, upper), on_part, steps.is_cancelled
        )

    if precision is not Precision.INT4:
        return build(source)

    def check() -> None:
        on_part(0, 0)

    with int4_first_layers(source, _path_of(source), config.cpu_layers, check) as int4:
        return build(int4)


def _path_of(source: GgufSource | HfSource) -> Path:
    return Path(source.path) if isinstance(source, GgufSource) else source.folder


def _build_int4(
    source: GgufSource | HfSource, dtype: torch.dtype, device: torch.device, steps: _Steps
) -> NativeDecoder:
    """Build from wider weights: quantised well, which takes its time, or as kept from last time."""
    size = source.file_bytes

    def report() -> None:
        steps.report(LoadStage.WEIGHTS, int(int4.share_done * size), size)

    with int4_source(source, _path_of(source), report) as int4:
        return NativeDecoder.build(
            int4, Precision.INT4, dtype, device, _ignore_part, steps.is_cancelled
        )


def _ignore_part(_done: int, _total: int) -> None:
    """The source itself reports, which it does more often."""


def _make_storage(config: ResolvedConfig) -> PagedStorage:
    device = _device(config)
    if isinstance(config.kv, CompressedGeometry):
        return CompressedStorage(config.kv, device)
    if not config.cpu_layers:
        return make_storage(config.kv, device)
    num_others = config.kv.num_layers - config.cpu_layers
    runs = ((torch.device("cpu"), config.cpu_layers), (device, num_others))
    return SplitStorage(config.kv, runs)


@contextmanager
def _named_memory_errors(source: Checkpoint, config: ResolvedConfig) -> Iterator[None]:
    """Turn a failed allocation into OutOfMemoryError; torch reports the CPU's as RuntimeError."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError, RuntimeError) as error:
        is_cpu_allocation = "DefaultCPUAllocator" in str(error)
        if type(error) is RuntimeError and not is_cpu_allocation:
            raise
        weights = weights_bytes(source, config.precision, config.device)
        needed = weights + config.kv.total_bytes
        raise out_of_memory(needed, _available(config.device)) from error


def _available(device: Device) -> int:
    gpu = find_gpu() if device is Device.CUDA else None
    return read_memory().available_bytes if gpu is None else gpu.free_bytes


def _dtype(name: str) -> torch.dtype:
    dtypes = {d: getattr(torch, d) for d in ("float32", "bfloat16", "float16")}
    dtype: torch.dtype = dtypes[name]
    return dtype


def _device(config: ResolvedConfig) -> torch.device:
    return torch.device(config.device.value)


def _describe(
    source: Checkpoint,
    config: ResolvedConfig,
    decoder: LoadedDecoder,
    load_ns: int,
    *,
    has_template: bool,
) -> ModelInfo:
    model = source.config
    gpu = find_gpu() if config.device is Device.CUDA else None
    rope = describe_scaling(model.rope_scaling, config.context_length)
    return ModelInfo(
        path=config.path,
        name=model.name,
        architecture=model.model_type,
        precision=config.precision,
        device=config.device,
        device_name=cpu_name() if gpu is None else gpu.name,
        threads=config.threads,
        context_length=config.context_length,
        trained_context_length=model.max_position_embeddings,
        vocab_size=model.vocab_size,
        hidden_size=model.hidden_size,
        intermediate_size=model.intermediate_size,
        num_layers=model.num_layers,
        num_heads=model.num_heads,
        num_kv_heads=model.num_kv_heads,
        head_dim=model.head_dim,
        num_parameters=sum(math.prod(shape) for shape in source.shapes.values()),
        file_bytes=source.file_bytes,
        weights_bytes=decoder.weights_bytes,
        kv_bytes_per_token=config.kv.bytes_per_token,
        kv_budget_bytes=config.kv.total_bytes,
        kv_block_size=config.kv.block_size,
        kv_dtype=config.kv_dtype,
        load_ns=load_ns,
        has_chat_template=has_template,
        kernels=(*decoder.kernels, *([] if rope is None else [rope]), *model.notes),
        license=model.license,
        num_cpu_layers=config.cpu_layers,
        kv_pools=pools_of(config.kv),
    )
