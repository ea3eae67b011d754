"""How far an evaluation is, as lines of JSON on stderr for a program that shows a bar.

Each line is ``{"progress": x}``, x from 0 to 1 and never less than before.
"""

import json
import sys

from engine.api import LoadProgress, LoadStage

_LEAST_STEP = 0.005
_LOAD_SHARE = 0.2  # of the whole, to load the model as asked for
_CALIBRATION_SHARE = 0.7  # where that means choosing its weights first
_REFERENCE_SHARE = 0.1


class ProgressLines:
    """Turns the steps of an evaluation into one figure that only grows."""

    def __init__(self, *, is_shown: bool) -> None:
        self._is_shown = is_shown
        self._last = -1.0
        self._span = (0.0, _LOAD_SHARE)

    def begin_load(self) -> None:
        """The model is about to be loaded."""
        self._tell(0.0)

    def begin_reference(self) -> None:
        """The same model in full precision is about to be loaded."""
        self._next_span(_REFERENCE_SHARE)

    def begin_measuring(self) -> None:
        """Both are there."""
        self._next_span(1.0)

    def on_load(self, progress: LoadProgress) -> None:
        """A step of loading."""
        part = progress.done / max(1, progress.total)
        if progress.stage is LoadStage.CALIBRATION:
            self._span = (0.0, _CALIBRATION_SHARE)
            self._within(0.95 * part)
        elif progress.stage is LoadStage.WEIGHTS:
            self._within(part)

    def on_tokens(self, done: int, total: int) -> None:
        """So many of all tokens were predicted."""
        self._within(done / max(1, total))

    def finish(self) -> None:
        """All is done."""
        self._tell(1.0)

    def _next_span(self, share: float) -> None:
        end = self._span[1]
        self._tell(end)
        self._span = (end, min(1.0, end + share))

    def _within(self, part: float) -> None:
        low, high = self._span
        self._tell(low + (high - low) * min(1.0, part))

    def _tell(self, value: float) -> None:
        if not self._is_shown or (value < self._last + _LEAST_STEP and value < 1.0):
            return
        if value <= self._last:
            return
        self._last = value
        print(json.dumps({"progress": round(value, 4)}), file=sys.stderr, flush=True)
