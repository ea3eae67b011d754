"""What the library shows, as plain records: models and folders here, models to fetch, fetches."""

from dataclasses import dataclass
from enum import StrEnum

from engine.api import Fit, ModelSheet


@dataclass(frozen=True, slots=True)
class LibraryRow:
    """A model on this computer.

    ``sheet`` is None while its header is read, and where ``problem`` says why it cannot be.
    ``can_be_trashed``: it is the user's own file, not a link into another program's store.
    ``modified_s``: when it was last changed, seconds since 1970.
    """

    path: str
    title: str
    num_bytes: int
    num_files: int = 1
    sheet: ModelSheet | None = None
    problem: str = ""
    is_loaded: bool = False
    can_be_trashed: bool = True
    modified_s: float = 0.0


class SortKey(StrEnum):
    """In which order models are listed."""

    NAME = "name"
    SIZE = "size"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class PlaceRow:
    """A folder of another program. ``is_searched``: its models are listed."""

    path: str
    program: str
    is_searched: bool = True


@dataclass(frozen=True, slots=True)
class OfferRow:
    """A model that could be fetched. ``fit`` is an estimate from its size."""

    key: int
    title: str
    num_bytes: int
    num_files: int
    quant: str = ""
    fit: Fit | None = None
    is_recommended: bool = False
    is_here: bool = False


class TransferStatus(StrEnum):
    """How a fetch stands, as far as a person can do something about it."""

    QUEUED = "queued"
    RUNNING = "running"
    CHECKING = "checking"
    WAITING = "waiting"
    STOPPED = "stopped"
    FAILED = "failed"
    DONE = "done"

    @property
    def is_active(self) -> bool:
        """Whether it goes on by itself."""
        return self in {self.QUEUED, self.RUNNING, self.CHECKING, self.WAITING}


@dataclass(frozen=True, slots=True)
class TransferRow:
    """A fetch. ``bytes_per_s`` and ``seconds_left`` are None where nothing is measured."""

    key: int
    title: str
    status: TransferStatus
    done_bytes: int
    total_bytes: int
    bytes_per_s: float | None = None
    seconds_left: float | None = None
    problem: str = ""
