"""What the library's controllers work with. Made once, in composition."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.catalog.remote import RemoteHub
from app.settings.values import Settings
from app.tasks import Tasks
from engine.api import (
    Foresight,
    MachineCeilings,
    ModelOptions,
    ModelSheet,
    Precision,
    PrecisionFit,
)


class Inspector(Protocol):
    """What the engine knows of a model before it is loaded. Each call may take a while."""

    def sheet(self, path: str, bytes_to_free: int) -> ModelSheet:
        """Read a model's header. Raises EngineError."""
        ...

    def estimate(
        self, num_parameters: int, precision: Precision, bytes_to_free: int
    ) -> PrecisionFit:
        """Judge a model by its size alone."""
        ...

    def foresee(self, options: ModelOptions, bytes_to_free: int) -> Foresight:
        """What loading with these options would come to. Raises EngineError."""
        ...

    def ceilings(self, threads: int, *, is_cuda: bool) -> MachineCeilings | None:
        """What was measured of this machine for as many threads; None: nothing yet."""
        ...

    def has_gpu(self) -> bool:
        """Whether models run on a GPU here."""
        ...


@dataclass(frozen=True, slots=True)
class LibraryServices:
    """Three workers: "catalog" reads the disk, "hub" asks, "downloads" fetches for hours.

    ``folder``: the app's own for models. ``pending``: the file of unfinished downloads.
    """

    settings: Settings
    inspector: Inspector
    folder: Path
    pending: Path
    catalog: Tasks
    hub: Tasks
    downloads: Tasks

    @property
    def download_folder(self) -> Path:
        """Where downloads go."""
        return Path(self.settings.text("download_folder") or self.folder)

    def hub_maker(self) -> Callable[[], RemoteHub]:
        """Make a hub, elsewhere, with the address and the token as they are now."""
        endpoint, token = self.settings.text("hub_endpoint"), self.settings.text("hub_token")

        def make() -> RemoteHub:
            from app.catalog.hub import Hub  # noqa: PLC0415 - half a second that few starts need

            return Hub(endpoint, token)

        return make

    def close(self, timeout_s: float) -> bool:
        """End the workers; False when one of them did not end in time."""
        workers = (self.downloads, self.hub, self.catalog)
        ends = [worker.close(timeout_s) for worker in workers]
        return all(ends)
