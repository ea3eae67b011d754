"""How many prompt tokens one step may take, so that progress shows more than twice a second."""

_TARGET_NS = 400_000_000
_SMALLEST_CHUNK = 32
_FIRST_CHUNK = 128
_WEIGHT_OF_NEWEST = 0.5


class PrefillPace:
    """Learns the speed of prefill from past steps.

    Chunks are powers of two (up to ``largest``): the rounding of a product depends on its shape,
    and a run repeated on the same machine should meet the same shapes.
    """

    def __init__(self, largest: int) -> None:
        self._largest = largest
        self._tokens_per_ns: float | None = None

    @property
    def chunk(self) -> int:
        """Prompt tokens the next step may take."""
        if self._tokens_per_ns is None:
            return min(_FIRST_CHUNK, self._largest)
        affordable = self._tokens_per_ns * _TARGET_NS
        chunk = _SMALLEST_CHUNK
        while chunk * 2 <= affordable:
            chunk *= 2
        return min(chunk, self._largest)

    def note(self, num_tokens: int, duration_ns: int) -> None:
        """Learn from a step; steps too small to tell the speed of prefill are passed over."""
        if num_tokens < min(_SMALLEST_CHUNK, self._largest) or duration_ns <= 0:
            return
        newest = num_tokens / duration_ns
        known = self._tokens_per_ns
        self._tokens_per_ns = (
            newest if known is None else known + (newest - known) * _WEIGHT_OF_NEWEST
        )
