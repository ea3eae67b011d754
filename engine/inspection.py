"""Look at a model on disk without loading it: what its header says, and whether it would fit.

Opens what the loader would open, with the loader's own checks, and asks the planner about each
precision. Reads headers only and allocates no weights. torch is imported inside the functions,
so whoever calls them should not be the GUI thread.
"""

import re
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.api import (
    Device,
    Fit,
    Foresight,
    MachineCeilings,
    ModelOptions,
    ModelSheet,
    Precision,
    PrecisionFit,
)
from engine.errors import ModelCorruptError
from engine.model.footprint.fit import RUNTIME_BYTES
from engine.model.footprint.weights import parameter_bytes, resolve_precision
from engine.planner.find import find_blueprint
from engine.planner.header import read_config_json
from engine.planner.machine import look_at_machine
from engine.planner.plan import plan
from engine.planner.room import judge
from engine.planner.wish import Wish
from engine.roofline.ceilings import cache_path, path_for, read_ceilings

if TYPE_CHECKING:
    from engine.model.source import Checkpoint

PRECISIONS = (Precision.INT4, Precision.INT8, Precision.BF16, Precision.FP32)
_LICENSE = re.compile(r"^license:[ \t]*[\"']?([\w.+-]{1,60})", re.MULTILINE)
_README_BYTES = 8_192
# scales, an embedding that stays wider, a cache and activations, where only the size is known
_OVERHEAD = 0.25


def inspect_model(path: str, bytes_to_free: int = 0) -> ModelSheet:
    """Read the header of a .gguf file (all parts of a split one) or of a model folder.

    ``bytes_to_free``: what the model that is loaded now would give back.

    Raises:
        ModelMissingError, ModelCorruptError, ModelUnsupportedError: as loading it would.
    """
    from engine.model.loader import open_checkpoint  # noqa: PLC0415 - imports torch

    try:
        with closing(open_checkpoint(path)) as source:
            return _sheet(path, source, bytes_to_free)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        # a header that no check foresaw is a bad file, and one bad file is not the end of a scan
        raise ModelCorruptError(
            f"{Path(path).name} is not a sound model: its header cannot be read. Get it again.",
            path=path,
            reason="its header cannot be read",
        ) from error


def foresee(options: ModelOptions, bytes_to_free: int = 0) -> Foresight:
    """What loading with ``options`` would come to. Reads headers only and measures nothing.

    ``bytes_to_free``: what the model that is loaded now would give back.

    Raises:
        ModelMissingError, ModelCorruptError, ModelUnsupportedError: as loading it would.
        InvalidRequestError: an option is out of range.
    """
    blueprint = find_blueprint(options.path)
    machine = look_at_machine(options.device, bytes_to_free)
    context = options.context_length
    if context is not None:  # as loading caps it
        context = min(context, blueprint.context_length)
    wish = Wish(options.weights, options.kv, context, gpu_budget=options.gpu_budget_bytes)
    made = plan(blueprint, wish, machine, read_ceilings(cache_path()))
    return Foresight(
        precision=resolve_precision(blueprint, options.weights),
        fit=Fit(made.verdict.value),
        needed_bytes=made.peak_bytes,
        available_bytes=made.available_bytes,
        other_programs_bytes=machine.memory.other_bytes,
        largest_context=made.largest_context,
        decode_tokens_per_s=made.predicted_decode_tokens_per_s,
        cpu_layers=made.cpu_layers,
        reasons=made.reasons,
    )


def known_ceilings(threads: int | None = None, *, is_cuda: bool = False) -> MachineCeilings | None:
    """This machine's ceilings as they were measured; None where they were not. Reads one file.

    ``threads``: of a model that runs on so many; None: of all physical cores. ``is_cuda``: those
    of its GPU.
    """
    path = cache_path() if threads is None else path_for(threads)
    found = read_ceilings(path)
    ceilings = None if found is None else found.of(is_cuda=is_cuda)
    if ceilings is None:
        return None
    return MachineCeilings(
        device=ceilings.device,
        threads=ceilings.threads,
        read_bytes_per_s=ceilings.read_bytes_per_s,
        cache_bytes_per_s=ceilings.cache_bytes_per_s,
        flops_per_s={precision: ceilings.flops_per_s(precision) for precision in PRECISIONS},
        measured_at=path.stat().st_mtime,
    )


def estimate_fit(
    num_parameters: int, precision: Precision, bytes_to_free: int = 0
) -> PrecisionFit:
    """Judge a model of which only the size is known. ``precision`` is not AUTO.

    ``largest_context`` is 0: it is not known.
    """
    memory = look_at_machine(Device.AUTO, bytes_to_free).memory
    needed = int(parameter_bytes(num_parameters, precision) * (1 + _OVERHEAD)) + RUNTIME_BYTES
    return PrecisionFit(precision, Fit(judge(needed, memory).value), needed, 0)


def _sheet(path: str, source: "Checkpoint", bytes_to_free: int) -> ModelSheet:
    from engine.model.calibration_offer import calibration_offer  # noqa: PLC0415 - imports torch
    from engine.model.footprint.checkpoint import (  # noqa: PLC0415 - imports torch
        blueprint_of,
    )

    config = source.config
    blueprint = blueprint_of(source)
    machine = look_at_machine(Device.AUTO, bytes_to_free)
    ceilings = read_ceilings(cache_path())  # measuring takes seconds, and a look must not
    plans = [plan(blueprint, Wish(precision), machine, ceilings) for precision in PRECISIONS]
    calibration_s, is_calibrated = calibration_offer(source, blueprint, ceilings)
    is_folder = Path(path).is_dir()
    stored, has_template, license_name = (_of_folder if is_folder else _of_gguf)(Path(path))
    return ModelSheet(
        path=path,
        name=config.name,
        architecture=config.model_type,
        stored=stored,
        num_layers=config.num_layers,
        num_heads=config.num_heads,
        num_kv_heads=config.num_kv_heads,
        vocab_size=config.vocab_size,
        hidden_size=config.hidden_size,
        context_length=config.max_position_embeddings,
        num_parameters=blueprint.num_parameters,
        has_chat_template=has_template,
        license=license_name,
        default=resolve_precision(blueprint, Precision.AUTO),
        fits=tuple(
            PrecisionFit(
                precision,
                Fit(result.verdict.value),
                result.peak_bytes,
                result.largest_context,
                result.predicted_decode_tokens_per_s,
                result.cpu_layers,
            )
            for precision, result in zip(PRECISIONS, plans, strict=True)
        ),
        calibration_s=calibration_s,
        is_calibrated=is_calibrated,
    )


def _of_gguf(path: Path) -> tuple[str, bool, str]:
    """How most weights are stored, whether there is a chat template, the licence."""
    from engine.model.gguf_split import open_gguf  # noqa: PLC0415 - imports torch

    with closing(open_gguf(path)) as file:
        stored = _mixture((n, info.type.name, info.nbytes) for n, info in file.tensors.items())
        named = file.metadata.get("general.license", "")
        has_template = isinstance(file.metadata.get("tokenizer.chat_template"), str)
        return stored, has_template, named if isinstance(named, str) else ""


def _of_folder(folder: Path) -> tuple[str, bool, str]:
    from engine.model.safetensors import open_folder  # noqa: PLC0415 - imports torch

    packed = read_config_json(folder / "config.json").get("quantization_config")
    method: Any = packed.get("quant_method") if isinstance(packed, dict) else None
    if isinstance(method, str):
        stored = method.upper()
    else:
        files = open_folder(folder)
        stored = _mixture(
            (name, info.dtype, info.nbytes) for f in files for name, info in f.tensors.items()
        )
        for file in files:
            file.close()
    return stored, _has_template(folder), _license(folder)


def _has_template(folder: Path) -> bool:
    if (folder / "chat_template.jinja").is_file():
        return True
    config = folder / "tokenizer_config.json"
    return config.is_file() and bool(read_config_json(config).get("chat_template"))


def _license(folder: Path) -> str:
    """What the model card's front matter says; an empty string where there is none."""
    try:
        with (folder / "README.md").open(encoding="utf-8", errors="replace") as file:
            head = file.read(_README_BYTES)
    except OSError:
        return ""
    found = _LICENSE.search(head.partition("\n---")[0]) if head.startswith("---") else None
    return found[1] if found else ""


def _mixture(parts: Iterable[tuple[str, str, int]]) -> str:
    """The types of the layers' weights, the most bytes first: "Q4_K, Q6_K".

    ``parts``: name, type and bytes of each tensor. Types with less than a tenth of the bytes are
    left out, and so is the embedding, which outweighs the layers of a small model.
    """
    layers: Counter[str] = Counter()
    others: Counter[str] = Counter()
    for name, kind, num_bytes in parts:
        totals = layers if name.startswith("blk.") or "layers." in name else others
        totals[kind] += num_bytes
    counted = layers or others
    least = counted.total() / 10
    return ", ".join(kind for kind, num_bytes in counted.most_common() if num_bytes >= least)
