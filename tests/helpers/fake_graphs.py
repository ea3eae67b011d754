"""Stands in for a graphics card's graphs on the CPU, and is as strict as one.

A step is run again where a card would replay it, and held against what was captured: the same
operations in the same order, with the same shapes, on the same memory, and no look at a value.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from typing_extensions import override

from engine.model.captured.device import GraphDevice, Step

# what waits for the device, has a shape that depends on values, or copies from Python's memory
FORBIDDEN = frozenset(
    {
        "aten::_local_scalar_dense",
        "aten::_unique2",
        "aten::bincount",
        "aten::equal",
        "aten::is_nonzero",
        "aten::item",
        "aten::lift_fresh",
        "aten::masked_select",
        "aten::nonzero",
        "aten::repeat_interleave.Tensor",
    }
)


class NotCapturableError(AssertionError):
    """A step does what a card cannot record."""


class FakeGraphs(GraphDevice):
    """Counts what it did: ``captures`` and ``replays``.

    Not ``is_strict``: for steps with kernels in Triton's interpreter, which does much on the host.
    """

    def __init__(self, *, is_strict: bool = True) -> None:
        self.is_strict = is_strict
        self.captures = 0
        self.replays = 0

    @override
    def capture(self, step: Step) -> Step:
        step()
        output, captured = self._logged(step)
        self.captures += 1

        def replay() -> torch.Tensor:
            again, log = self._logged(step)
            for index, (one, other) in enumerate(zip(captured, log, strict=True)):
                assert one == other, f"operation {index} is another one when it is replayed"
            self.replays += 1
            return output.copy_(again)

        return replay

    def _logged(self, step: Step) -> tuple[torch.Tensor, list[tuple[object, ...]]]:
        if not self.is_strict:
            return step(), []
        with _Log() as log:
            return step(), log.calls


class BrokenGraphs(GraphDevice):
    """Captures nothing."""

    def __init__(self, error: Exception) -> None:
        self.error = error
        self.attempts = 0

    @override
    def capture(self, step: Step) -> Step:
        self.attempts += 1
        raise self.error


class _Log(TorchDispatchMode):
    """What each operation was given: values from Python, shapes, and where tensors come from."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[object, ...]] = []
        self._made: dict[int, int] = {}  # address of memory -> the operation that made it

    @override
    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        del types
        name = func.name()
        given = tree_leaves((args, kwargs))
        has_mask = any(isinstance(v, torch.Tensor) and v.dtype == torch.bool for v in given)
        if name in FORBIDDEN or (
            has_mask and name.startswith(("aten::index.", "aten::index_put"))
        ):
            raise NotCapturableError(name)
        self.calls.append((name, *self._described(given)))
        result = func(*args, **(kwargs or {}))
        known = {_address(value) for value in given if isinstance(value, torch.Tensor)}
        for value in tree_leaves(result):
            if isinstance(value, torch.Tensor) and _address(value) not in known:
                self._made[_address(value)] = len(self.calls)
        return result

    def _described(self, given: Sequence[object]) -> Iterator[object]:
        for value in given:
            if not isinstance(value, torch.Tensor):
                yield str(value)
                continue
            address = _address(value)
            place = ("made", self._made[address]) if address in self._made else ("held", address)
            yield (*place, value.storage_offset(), tuple(value.shape), value.stride(), value.dtype)


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
