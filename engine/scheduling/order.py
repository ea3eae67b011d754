"""Who goes first: priority, then how long a request was passed over, then arrival.

Plain functions of requests; the scheduler acts on them.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from engine.scheduling.request import Request

# Steps in which others were served before a request rises by one level of priority.
PATIENCE: Final = 1_000


def level(request: Request) -> int:
    """The request's priority, raised with each thousand steps that passed it over.

    It never falls, so that every request outranks all newcomers some day and ends.
    """
    return request.priority + request.num_passed_over // PATIENCE


def rank(request: Request) -> tuple[int, int]:
    """Sorts requests: the first is served first, the last gives way first."""
    return (-level(request), request.arrival)


def quick_ones_first(prompts: Iterable[Request], chunk: int) -> Iterator[Request]:
    """Ranked prompts, of each level those first that half a ``chunk`` completes, shortest first.

    A short question need not wait for the long document of an equal, and the document still gets
    half of every chunk.
    """
    left = chunk // 2
    for group in _by_level(prompts):
        quick: list[Request] = []
        for request in sorted(group[1:], key=lambda r: r.num_behind):
            if request.num_behind > left or group[0].num_behind <= chunk - left:
                break
            left -= request.num_behind
            quick.append(request)
        yield from quick
        yield from (request for request in group if request not in quick)


def _by_level(requests: Iterable[Request]) -> Iterator[Sequence[Request]]:
    groups: dict[int, list[Request]] = {}
    for request in sorted(requests, key=rank):
        groups.setdefault(level(request), []).append(request)
    yield from groups.values()
