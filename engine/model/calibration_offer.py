"""What calibrated INT4 weights of a model would cost, and whether they are there already.

Counts arithmetic and memory traffic of ``engine.model.calibration`` over rates measured on this
machine. Whoever inspects a model asks; nothing here reads weights.
"""

from pathlib import Path
from typing import Protocol

from engine.api import Precision
from engine.model.calibrated import is_calibrated
from engine.model.footprint.blueprint import Blueprint, Product
from engine.model.gguf_source import GgufSource
from engine.model.hf_source import HfSource
from engine.model.source import Checkpoint
from engine.quant.calibration import WIDEST

_TOKENS = 4_000  # of the built-in texts
_WORK = 8  # multiplications and additions a weight and column that compensates it
_FACTORISING = 3  # the same, a pair of columns and column
_FITTED_BYTES = 3_000  # gone through a weight, by the steps that are no matrix product
_PLAIN_BYTES = 1_500  # of a weight that is rounded without looking at inputs


class Rates(Protocol):
    """What was measured on this machine; ``engine.roofline.Ceilings`` is one."""

    @property
    def device(self) -> str:
        """The kind of device: cpu or cuda."""
        ...

    @property
    def read_bytes_per_s(self) -> float:
        """How fast memory is read."""
        ...

    def flops_per_s(self, precision: Precision) -> float:
        """The rate of products with many rows."""
        ...


def calibration_offer(
    source: Checkpoint, blueprint: Blueprint, rates: Rates | None
) -> tuple[float | None, bool]:
    """About how many seconds calibration would take, and whether its result is kept on disk.

    None where it gains nothing (4-bit files), is not possible (the compatibility path, a graphics
    card), or nothing was measured yet.
    """
    if not isinstance(source, GgufSource | HfSource) or source.is_four_bit:
        return None, False
    path = Path(source.path) if isinstance(source, GgufSource) else source.folder
    is_made = is_calibrated(path)
    if rates is None or rates.device != "cpu":
        return None, is_made
    seconds = sum(_seconds(product, rates) for product in blueprint.products)
    if blueprint.head is not None:
        seconds += blueprint.head.size * _PLAIN_BYTES / rates.read_bytes_per_s
    return seconds, is_made


def _seconds(product: Product, rates: Rates) -> float:
    passing = 2 * _TOKENS * product.size * product.active / rates.flops_per_s(Precision.INT4)
    if product.is_four_bit:
        return passing
    if product.copies > 1:  # experts
        return passing + product.size * product.copies * _PLAIN_BYTES / rates.read_bytes_per_s
    columns = product.columns
    within = min(columns, WIDEST)
    work = columns * within * (2 * _TOKENS + _FACTORISING * within)
    work += _WORK * product.size * within
    fitting = product.size * _FITTED_BYTES / rates.read_bytes_per_s
    return passing + work / rates.flops_per_s(Precision.FP32) + fitting
