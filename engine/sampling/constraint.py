"""What a choice of tokens may be bound to. Knows no grammar; ``engine.text.grammar`` has one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # the scheduler passes constraints on and imports no numpy
    import numpy as np
    import numpy.typing as npt


class TokenConstraint(Protocol):
    """The tokens that an answer may go on with."""

    def allowed(self, output_ids: Sequence[int]) -> "npt.NDArray[np.bool_]":
        """Which tokens may follow ``output_ids``, the answer so far: bool [vocab_size].

        At least one is true. Calls may go back: a draft that was not accepted is taken off again.
        """
        ...
