"""The tensors behind one kind of compressed entry, addressed by entry number within the pool.

Entries are written once, read back many at a time and widened as they are read; how they are kept
is decided here and nowhere else. Slow twin: a pool of FP32.
"""

import torch

from engine.kv.compressed_geometry import EntryForm
from engine.kv.memory import lazy_zeros
from engine.kv.quantized import decode, encode
from engine.kv.storage import float_type

_FP8_MAX = 448.0

# which entries: a run of them side by side, or int64 numbers of any shape
EntryIndex = slice | torch.Tensor


class EntryPool:
    """``capacity`` entries of ``width`` values in each of ``layers`` layers.

    FP8 rounds each value by itself; INT8 and INT4 are codes and parameters as
    ``engine.kv.quantized`` makes them, without a rotation: entries come normalised.
    """

    def __init__(
        self, layers: int, capacity: int, width: int, form: EntryForm, device: torch.device
    ) -> None:
        """Allocate; raises ValueError for a width that the form cannot keep."""
        if not form.can_keep(width):
            raise ValueError(f"entries of {width} values cannot be kept in {form.name}")
        self.width = width
        self.form = form
        kept = form.vector_format
        self._quantised = kept if kept is not None and kept.is_quantised else None
        columns, dtype = width, torch.uint8
        if self._quantised is not None:
            columns = self._quantised.code_bytes(width)
        elif kept is not None:
            dtype = float_type(kept)
        self._values = _zeros(layers, capacity, columns, dtype, device)
        self._parameters: torch.Tensor | None = None
        if self._quantised is not None:
            count = self._quantised.num_parameters(width)
            self._parameters = _zeros(layers, capacity, count, torch.float16, device)

    @property
    def nbytes(self) -> int:
        """Bytes allocated."""
        return self._values.nbytes + (0 if self._parameters is None else self._parameters.nbytes)

    def write(self, layer: int, entries: torch.Tensor, rows: torch.Tensor) -> None:
        """Keep ``rows`` [n, width] as the entries ``entries`` (int64 [n]) of ``layer``."""
        if self._quantised is not None and self._parameters is not None:
            values, parameters = encode(rows.float(), self._quantised)
            self._parameters[layer].index_copy_(0, entries, parameters)
        elif self.form is EntryForm.FP8:
            # out of range would become not-a-number
            narrow = rows.clamp(-_FP8_MAX, _FP8_MAX).to(torch.float8_e4m3fn)
            values = narrow.view(torch.uint8)
        else:
            values = rows.to(self._values.dtype)
        self._values[layer].index_copy_(0, entries, values)

    def read(self, layer: int, entries: EntryIndex, dtype: torch.dtype) -> torch.Tensor:
        """The entries of ``layer`` in ``dtype``, [..., width]; a view where nothing changes."""
        values = _select(self._values[layer], entries)
        if self._quantised is not None and self._parameters is not None:
            parameters = _select(self._parameters[layer], entries)
            return decode(values, parameters, self._quantised).to(dtype)
        if self.form is EntryForm.FP8:
            values = values.view(torch.float8_e4m3fn)
        return values.to(dtype)


def _select(values: torch.Tensor, entries: EntryIndex) -> torch.Tensor:
    if isinstance(entries, slice):
        return values[entries]
    chosen = values.index_select(0, entries.reshape(-1))
    return chosen.view(*entries.shape, values.shape[1])


def _zeros(
    layers: int, capacity: int, width: int, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """A model may have no layers of a kind, and there is no memory of no bytes."""
    if not layers:
        return torch.zeros(0, capacity, width, dtype=dtype, device=device)
    return lazy_zeros((layers, capacity, width), dtype, device)
