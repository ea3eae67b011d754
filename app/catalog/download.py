"""One download, from the disk check to the last rename: what the worker thread does.

::

    QUEUED -> CHECKING -> RECEIVING <-> WAITING -> DONE
              (any of these) -> STOPPED | FAILED

The state is one frozen value that is replaced as a whole; any thread may read it.
"""

import shutil
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

from app.catalog import errors
from app.catalog.names import place_in
from app.catalog.part import Part
from app.catalog.remote import BROKEN_OFF, RemoteFile, RemoteHub
from engine.errors import EngineError

_RATE_WINDOW_S = 8.0
_RATE_MIN_S = 0.5
_SAMPLE_S = 0.2
_MAX_PAUSE_S = 300
_RETRIED = (errors.HubUnreachableError, errors.HubFaultError, errors.HubBusyError)


class Phase(StrEnum):
    """Where a download is."""

    QUEUED = "queued"
    CHECKING = "checking"
    RECEIVING = "receiving"
    WAITING = "waiting"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Job:
    """What to fetch: files of one commit of a repository, into ``folder``.

    ``title`` is for people. The files go where their names say, below ``folder``.
    """

    repository: str
    revision: str
    files: tuple[RemoteFile, ...]
    folder: str
    title: str

    @property
    def num_bytes(self) -> int:
        """Bytes of all files."""
        return sum(file.num_bytes for file in self.files)


@dataclass(frozen=True, slots=True)
class DownloadState:
    """How far it is. ``bytes_per_s`` and ``seconds_left`` are None where nothing is measured."""

    phase: Phase
    done_bytes: int
    total_bytes: int
    bytes_per_s: float | None = None
    seconds_left: float | None = None


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(folder).free


def _default_pauses() -> tuple[float, ...]:
    return (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a download depends on beside the hub.

    ``pauses``: seconds before each attempt to go on; when they are used up without a new byte,
    the download fails. ``reserve_bytes`` stay free on the disk.
    """

    pauses: tuple[float, ...] = field(default_factory=_default_pauses)
    reserve_bytes: int = 512 << 20
    free_bytes: Callable[[Path], int] = _free_bytes
    clock: Callable[[], float] = time.monotonic


class Download:
    """Runs one job. ``run`` belongs to a worker thread; ``stop`` and ``state`` to any."""

    def __init__(self, job: Job, conditions: Conditions | None = None) -> None:
        self.job = job
        self._conditions = conditions or Conditions()
        self._folder = Path(job.folder)
        self._is_stopped = threading.Event()
        self._state = DownloadState(Phase.QUEUED, 0, job.num_bytes)
        self._samples: deque[tuple[float, int]] = deque()

    @property
    def state(self) -> DownloadState:
        """The state now."""
        return self._state

    def stop(self) -> None:
        """End it soon; what has arrived is kept."""
        self._is_stopped.set()

    def look(self) -> None:
        """See what has arrived already, in an earlier run of the app; reads sizes only.

        In a worker thread, and not while it runs. A disk that is not there counts as nothing.
        """
        try:
            parts = list(map(Part, self.job.files, self._places()))
            here = self.job.num_bytes - sum(part.missing_bytes for part in parts)
        except (OSError, EngineError):
            return
        self._state = replace(self._state, phase=Phase.STOPPED, done_bytes=here)

    def run(self, make_hub: Callable[[], RemoteHub]) -> list[Path]:
        """Fetch everything; the files' places.

        Raises StoppedError, or the EngineError of app.catalog that ended it. Parts are kept,
        unless they are damaged.
        """
        self._state = DownloadState(Phase.QUEUED, 0, self.job.num_bytes)
        try:
            self._check_stop()
            places = self._places()
            self._check_disk(places)
            with closing(make_hub()) as hub:
                for file, place in zip(self.job.files, places, strict=True):
                    self._fetch(hub, file, place)
        except EngineError as error:
            is_stop = isinstance(error, errors.StoppedError)
            self._show(Phase.STOPPED if is_stop else Phase.FAILED)
            raise
        self._show(Phase.DONE)
        return places

    def discard(self) -> None:
        """Delete what has arrived in part; whole files stay. Not while it runs.

        Raises EngineError.
        """
        with self._disk():
            for file, place in zip(self.job.files, self._places(), strict=True):
                Part(file, place).discard()

    # ------------------------------------------------------------------ the disk

    def _places(self) -> list[Path]:
        return [place_in(self._folder, file.name) for file in self.job.files]

    def _check_disk(self, places: list[Path]) -> None:
        """Make the folder, and refuse what it has no room for."""
        with self._disk():
            self._folder.mkdir(parents=True, exist_ok=True)
            parts = map(Part, self.job.files, places)
            missing = sum(part.missing_bytes for part in parts)
            free = self._conditions.free_bytes(self._folder)
        if missing and missing + self._conditions.reserve_bytes > free:
            raise errors.disk_full(missing + self._conditions.reserve_bytes, free)

    @contextmanager
    def _disk(self) -> Iterator[None]:
        """Turn what the file system raises into a failure with a sentence."""
        try:
            yield
        except OSError as error:
            missing = self._state.total_bytes - self._state.done_bytes
            try:
                free = self._conditions.free_bytes(self._folder)
            except OSError:
                free = 0
            raise errors.of_disk(error, str(self._folder), missing, free) from error

    # ------------------------------------------------------------------ one file

    def _fetch(self, hub: RemoteHub, file: RemoteFile, place: Path) -> None:
        part = Part(file, place)
        with self._disk(), closing(part):
            if part.is_placed:
                self._add(file.num_bytes)
                return
            self._show(Phase.CHECKING)
            for num_bytes in part.check():
                self._check_stop()
                self._add(num_bytes)
            self._receive(hub, file, part)
            part.finish()

    def _receive(self, hub: RemoteHub, file: RemoteFile, part: Part) -> None:
        """Fetch the rest, over as many connections as it takes."""
        pauses = iter(self._conditions.pauses)
        while part.num_bytes < file.num_bytes:
            before = part.num_bytes
            try:
                self._receive_once(hub, file, part)
            except _RETRIED as error:
                if part.num_bytes > before:
                    pauses = iter(self._conditions.pauses)
                pause = next(pauses, None)
                wanted = int(error.details.get("seconds", 0))
                if pause is None or wanted > _MAX_PAUSE_S:
                    raise
                self._wait(max(pause, wanted))

    def _receive_once(self, hub: RemoteHub, file: RemoteFile, part: Part) -> None:
        self._check_stop()
        job = self.job
        with hub.open(job.repository, job.revision, file, part.num_bytes) as stream:
            if stream.first != part.num_bytes:  # this server cannot go on in the middle
                self._add(-part.num_bytes)
                part.start_over()
            self._samples.clear()
            for block in stream.blocks:
                self._check_stop()
                part.write(block)
                self._receive_bytes(len(block))
        if part.num_bytes < file.num_bytes:
            raise errors.unreachable(BROKEN_OFF)

    # ------------------------------------------------------------------ state

    def _wait(self, seconds: float) -> None:
        self._show(Phase.WAITING)
        self._is_stopped.wait(seconds)
        self._check_stop()

    def _check_stop(self) -> None:
        if self._is_stopped.is_set():
            raise errors.StoppedError("The download was stopped; what has arrived is kept.")

    def _show(self, phase: Phase) -> None:
        self._state = replace(self._state, phase=phase, bytes_per_s=None, seconds_left=None)

    def _add(self, num_bytes: int) -> None:
        self._state = replace(self._state, done_bytes=self._state.done_bytes + num_bytes)

    def _receive_bytes(self, num_bytes: int) -> None:
        done, total = self._state.done_bytes + num_bytes, self._state.total_bytes
        rate = self._rate(done)
        left = (total - done) / rate if rate else None
        self._state = DownloadState(Phase.RECEIVING, done, total, rate, left)

    def _rate(self, done: int) -> float | None:
        """Bytes a second over the last seconds."""
        now = self._conditions.clock()
        if not self._samples or now - self._samples[-1][0] >= _SAMPLE_S:
            self._samples.append((now, done))
        while now - self._samples[0][0] > _RATE_WINDOW_S and len(self._samples) > 2:
            self._samples.popleft()
        then, before = self._samples[0]
        return (done - before) / (now - then) if now - then >= _RATE_MIN_S else None
