"""What a hub answers, and what is asked of one. Imports no transport, so it costs nothing."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

# reasons that a connection fails, as errors carry them
NO_CONNECTION = "no connection"
NO_ANSWER = "no answer in time"
BROKEN_OFF = "the connection broke off"
BAD_ADDRESS = "the address is not valid"
NOT_A_HUB = "the answer is not a hub's"


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """One file of a repository. Its content is known by ``sha256``, or else by git's ``blob_id``.

    Both may be empty; then only the size can be checked.
    """

    name: str
    num_bytes: int
    sha256: str = ""
    blob_id: str = ""


@dataclass(frozen=True, slots=True)
class RemoteRepository:
    """What a repository holds at one commit."""

    name: str
    revision: str
    files: tuple[RemoteFile, ...]
    is_gated: bool = False
    license: str = ""


@dataclass(frozen=True, slots=True)
class Stream:
    """The rest of a file. ``first``: the byte it begins with, 0 if the server starts over."""

    first: int
    blocks: Iterator[bytes]


class RemoteHub(Protocol):
    """A hub, by one thread. Each call raises an EngineError of app.catalog when it fails."""

    def look_up(self, repository: str) -> RemoteRepository:
        """List a repository's files with their sizes."""
        ...

    def open(
        self, repository: str, revision: str, file: RemoteFile, first: int = 0
    ) -> AbstractContextManager[Stream]:
        """Read a file from byte ``first`` on."""
        ...

    def close(self) -> None:
        """Give the connections back."""
        ...
