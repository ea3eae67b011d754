"""How many prompt tokens one step may take, so that nobody waits long for the next one."""

_TARGET_NS = 400_000_000  # progress shows more than twice a second
_SHARED_TARGET_NS = 100_000_000  # an answer that streams meanwhile must not halt
_SMALLEST_CHUNK = 32
_FIRST_CHUNK = 128
_WEIGHT_OF_NEWEST = 0.5


class PrefillPace:
    """Learns the speed of prefill from past steps.

    Chunks are powers of two (up to ``largest``): the rounding of a product depends on its shape,
    and a run repeated on the same machine should meet the same shapes. With ``is_adaptive`` False
    every chunk is the largest.
    """

    def __init__(self, largest: int, *, is_adaptive: bool = True) -> None:
        self._largest = largest
        self._is_adaptive = is_adaptive
        self._tokens_per_ns: float | None = None

    def chunk(self, *, is_shared: bool) -> int:
        """Prompt tokens the next step may take; fewer where answers that stream share it."""
        if not self._is_adaptive:
            return self._largest
        if self._tokens_per_ns is None:
            return min(_SMALLEST_CHUNK if is_shared else _FIRST_CHUNK, self._largest)
        affordable = self._tokens_per_ns * (_SHARED_TARGET_NS if is_shared else _TARGET_NS)
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
