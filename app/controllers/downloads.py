"""Fetching models: look a repository up, fetch one after another, go on after a stop or a crash.

A request is made only after a button that says so. Downloads run in the task thread "downloads",
one at a time; a timer reads how far they are while any of them is under way.
"""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.catalog.download import Download, Job, Phase
from app.catalog.errors import StoppedError
from app.catalog.names import check_repository
from app.catalog.offers import Offer, judged, offers_of
from app.catalog.pending import read_jobs, write_jobs
from app.catalog.remote import RemoteHub, RemoteRepository
from app.controllers.library import LibraryController
from app.controllers.library_services import LibraryServices
from app.controllers.library_words import words_for_library
from engine.api import Precision, PrecisionFit
from engine.errors import EngineError
from ui.i18n import tr
from ui.library.download_panel import DownloadPanel
from ui.library.rows import OfferRow, TransferRow, TransferStatus

POLL_MS = 250
_STATUS: Mapping[Phase, TransferStatus] = {
    Phase.QUEUED: TransferStatus.QUEUED,
    Phase.CHECKING: TransferStatus.CHECKING,
    Phase.RECEIVING: TransferStatus.RUNNING,
    Phase.WAITING: TransferStatus.WAITING,
    Phase.DONE: TransferStatus.DONE,
    Phase.STOPPED: TransferStatus.STOPPED,
    Phase.FAILED: TransferStatus.FAILED,
}
Found = tuple[RemoteRepository, list[Offer]]


@dataclass(frozen=True, slots=True)
class _Transfer:
    """One download. ``is_running``: its task has not ended; ``is_stopped``: the user stopped it."""

    download: Download
    is_running: bool = False
    is_stopped: bool = False
    problem: str = ""


class DownloadsController(QObject):
    """Keeps the download panel."""

    notice = Signal(str)
    changed_settings = Signal()
    arrived = Signal(str)

    def __init__(
        self, panel: DownloadPanel, library: LibraryController, services: LibraryServices
    ) -> None:
        super().__init__(panel)
        self._panel = panel
        self._library = library
        self._services = services
        self._repository: RemoteRepository | None = None
        self._offers: list[Offer] = []
        self._transfers: dict[int, _Transfer] = {}
        self._next_key = 0
        self._asked = 0
        self._has_read_pending = False
        self._poll = QTimer(self)
        self._poll.setObjectName("downloads-poll")
        self._poll.setInterval(POLL_MS)
        self._poll.timeout.connect(self._show)
        panel.look_up_requested.connect(self._on_look_up)
        panel.download_requested.connect(self._on_download)
        panel.folder_chosen.connect(self._on_folder)
        panel.transfers.stop_requested.connect(self._on_stop)
        panel.transfers.resume_requested.connect(self._on_resume)
        panel.transfers.discard_requested.connect(self._on_discard)
        panel.set_folder(str(services.download_folder))

    # ------------------------------------------------------------------ calls

    @Slot()
    def open(self) -> None:
        """The page is shown: offer what an earlier run did not finish."""
        if not self._has_read_pending:
            self._has_read_pending = True
            read = partial(_unfinished, self._services.pending)
            self._services.hub.run(read, self._on_pending, self._on_error)

    def close(self) -> None:
        """Stop everything; what has arrived is kept and offered at the next start."""
        self._poll.stop()
        for transfer in self._transfers.values():
            transfer.download.stop()

    # ------------------------------------------------------------------ look-up

    @Slot(str)
    def _on_look_up(self, text: str) -> None:
        self._asked += 1
        try:
            repository = check_repository(text)
        except EngineError as error:
            self._panel.set_problem(words_for_library(error))
            return
        self._panel.set_busy()
        work = partial(self._look_up, repository, self._library.bytes_to_free)
        self._services.hub.run(
            work, partial(self._on_found, self._asked), partial(self._on_not_found, self._asked)
        )

    def _look_up(self, repository: str, bytes_to_free: int) -> Found:
        """In the hub thread."""

        def judge(num_parameters: int, precision: Precision) -> PrecisionFit:
            return self._services.inspector.estimate(num_parameters, precision, bytes_to_free)

        with closing(self._make_hub()) as hub:
            found = hub.look_up(repository)
        return found, judged(offers_of(found), judge)

    def _make_hub(self) -> RemoteHub:
        return self._services.hub_maker()()

    def _on_found(self, asked: int, found: Found) -> None:
        if asked != self._asked:
            return  # something else was asked for meanwhile
        self._repository, self._offers = found
        self._show_offers()

    def _on_not_found(self, asked: int, error: Exception) -> None:
        if asked == self._asked:
            self._panel.set_problem(words_for_library(error))

    def _show_offers(self) -> None:
        repository = self._repository
        if repository is None:
            return
        if not self._offers:
            self._panel.set_problem(
                tr("{name} holds no GGUF or safetensors model.", name=repository.name)
            )
            return
        rows = [self._offer_row(key, offer) for key, offer in enumerate(self._offers)]
        self._panel.set_offers(rows, _about(repository))

    def _offer_row(self, key: int, offer: Offer) -> OfferRow:
        assert self._repository is not None
        folder = self._folder_of(self._repository.name)
        wanted = {str(folder / file.name) for file in offer.files if file.num_bytes}
        weights = {path for path in wanted if path.endswith((".gguf", ".safetensors"))}
        return OfferRow(
            key=key,
            title=offer.title,
            num_bytes=offer.num_bytes,
            num_files=len(offer.files),
            quant=offer.quant,
            fit=None if offer.fit is None else offer.fit.fit,
            is_recommended=offer.is_recommended,
            is_here=weights <= self._library.paths,
        )

    # ------------------------------------------------------------------ downloads

    @Slot(int)
    def _on_download(self, key: int) -> None:
        if self._repository is None or not 0 <= key < len(self._offers):
            return
        offer = self._offers[key]
        job = Job(
            self._repository.name,
            self._repository.revision,
            offer.files,
            str(self._folder_of(self._repository.name)),
            offer.title,
        )
        for old, transfer in self._transfers.items():
            if transfer.download.job == job:
                if not self._row(old, transfer).status.is_active:
                    self._on_resume(old)
                return
        self._start(self._new_key(), Download(job))

    def _start(self, key: int, download: Download) -> None:
        self._transfers[key] = _Transfer(download, is_running=True)
        self._keep()
        self._poll.start()
        self._show()
        self._services.downloads.run(
            partial(download.run, self._services.hub_maker()),
            partial(self._on_done, key, download),
            partial(self._on_failed, key, download),
        )

    def _on_done(self, key: int, download: Download, places: list[Path]) -> None:
        self._end(key, download, "")
        weights = [place for place in places if place.suffix in {".gguf", ".safetensors"}]
        if weights:
            is_gguf = weights[0].suffix == ".gguf"
            self.arrived.emit(str(weights[0] if is_gguf else weights[0].parent))

    def _on_failed(self, key: int, download: Download, error: Exception) -> None:
        is_stop = isinstance(error, StoppedError)
        self._end(key, download, "" if is_stop else words_for_library(error))

    def _end(self, key: int, download: Download, problem: str) -> None:
        transfer = self._transfers.get(key)
        if transfer is None or transfer.download is not download:
            return
        self._transfers[key] = replace(transfer, is_running=False, problem=problem)
        self._keep()
        self._show()

    @Slot(int)
    def _on_stop(self, key: int) -> None:
        if (transfer := self._transfers.get(key)) is not None:
            transfer.download.stop()
            self._transfers[key] = replace(transfer, is_stopped=True)
            self._show()

    @Slot(int)
    def _on_resume(self, key: int) -> None:
        if (transfer := self._transfers.get(key)) is not None:
            self._start(key, Download(transfer.download.job))

    @Slot(int)
    def _on_discard(self, key: int) -> None:
        transfer = self._transfers.pop(key, None)
        if transfer is None:
            return
        if transfer.download.state.phase is not Phase.DONE:
            # behind the download itself, which may still be writing
            self._services.downloads.run(transfer.download.discard, on_error=self._on_error)
        self._keep()
        self._show()

    def _on_pending(self, downloads: list[Download]) -> None:
        known = {transfer.download.job for transfer in self._transfers.values()}
        for download in downloads:
            if download.job not in known:
                self._transfers[self._new_key()] = _Transfer(download, is_stopped=True)
        self._show()

    # ------------------------------------------------------------------ showing and keeping

    def _show(self) -> None:
        rows = [self._row(key, transfer) for key, transfer in self._transfers.items()]
        if not any(row.status.is_active for row in rows):
            self._poll.stop()
        self._panel.set_transfers(rows)

    def _row(self, key: int, transfer: _Transfer) -> TransferRow:
        state = transfer.download.state
        status = _STATUS[state.phase]
        if transfer.is_stopped and status is not TransferStatus.DONE:
            status = TransferStatus.STOPPED
        elif transfer.problem:
            status = TransferStatus.FAILED
        return TransferRow(
            key=key,
            title=transfer.download.job.title,
            status=status,
            done_bytes=state.done_bytes,
            total_bytes=state.total_bytes,
            bytes_per_s=state.bytes_per_s,
            seconds_left=state.seconds_left,
            problem=transfer.problem,
        )

    def _keep(self) -> None:
        """Remember what is not finished, for the next start."""
        jobs = [
            transfer.download.job
            for transfer in self._transfers.values()
            if transfer.download.state.phase is not Phase.DONE
        ]
        write = partial(write_jobs, self._services.pending, jobs)
        self._services.hub.run(write, on_error=self._on_error)

    @Slot(str)
    def _on_folder(self, path: str) -> None:
        self._services.settings.set("download_folder", path)
        self.changed_settings.emit()
        self._panel.set_folder(path)
        self._show_offers()

    def _folder_of(self, repository: str) -> Path:
        return self._services.download_folder.joinpath(*repository.split("/"))

    def _new_key(self) -> int:
        self._next_key += 1
        return self._next_key

    def _on_error(self, error: Exception) -> None:
        self.notice.emit(words_for_library(error))


def _unfinished(pending: Path) -> list[Download]:
    """What an earlier run did not finish, and how far it came. In a worker thread."""
    downloads = [Download(job) for job in read_jobs(pending)]
    for download in downloads:
        download.look()
    return downloads


def _about(repository: RemoteRepository) -> str:
    parts = []
    if repository.license:
        parts.append(tr("Licence: {name}.", name=repository.license))
    if repository.is_gated:
        parts.append(tr("Its makers want you to accept their terms before you download it."))
    return tr(" ").join(parts)
