"""What every controller works with. Made once, in composition."""

from dataclasses import dataclass
from pathlib import Path

from app.bridge import EngineBridge
from app.settings.values import Settings
from app.store.store import Store
from app.tasks import Tasks


@dataclass(frozen=True, slots=True)
class Services:
    """The engine, the disk and the settings. ``store`` and files are used inside ``tasks`` only."""

    bridge: EngineBridge
    store: Store
    tasks: Tasks
    settings: Settings
    settings_path: Path
    secrets_path: Path
