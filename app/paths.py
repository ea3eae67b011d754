"""Where the app keeps its files. Knows the platform's folders and creates nothing by itself.

TOKENTIDE_HOME puts everything below one folder: for tests, portable copies and second profiles.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

APP_NAME = "tokentide"
HOME_VARIABLE = "TOKENTIDE_HOME"
STARTER_MODEL = "SmolLM2-135M-Instruct.Q4_1.gguf"


@dataclass(frozen=True, slots=True)
class Paths:
    """The app's folders, and the files that have a fixed place in them."""

    data: Path
    config: Path
    cache: Path
    logs: Path

    @property
    def database(self) -> Path:
        """All conversations."""
        return self.data / "conversations.sqlite3"

    @property
    def backups(self) -> Path:
        """Copies of the database from before each migration."""
        return self.data / "backups"

    @property
    def models(self) -> Path:
        """Model files that came with the app or were put there by the user."""
        return self.data / "models"

    @property
    def starter_model(self) -> Path:
        """The model that is installed with the app; the file may be missing."""
        return self.models / STARTER_MODEL

    @property
    def downloads(self) -> Path:
        """What was to be downloaded and is not finished."""
        return self.data / "downloads.json"

    @property
    def losses(self) -> Path:
        """What was measured of each model's precisions."""
        return self.data / "losses.json"

    @property
    def experiments(self) -> Path:
        """What experiments measured, a file a run."""
        return self.data / "experiments"

    @property
    def kept_caches(self) -> Path:
        """What models have read of conversations, where the user wants it kept."""
        return self.data / "kv"

    @property
    def settings(self) -> Path:
        """The settings file."""
        return self.config / "settings.json"

    @property
    def secrets(self) -> Path:
        """Settings that nobody else may read, such as the hub's access token."""
        return self.data / "secrets.json"

    @property
    def lock(self) -> Path:
        """Held by the one running instance."""
        return self.data / "instance.lock"

    def create(self) -> None:
        """Make the folders that are missing. Raises OSError where that is impossible."""
        for folder in (self.data, self.config, self.cache, self.logs, self.models):
            folder.mkdir(parents=True, exist_ok=True)


def app_paths(home: Path | None = None, environ: Mapping[str, str] | None = None) -> Paths:
    """Choose the folders: ``home``, else TOKENTIDE_HOME, else the platform's own."""
    variables = os.environ if environ is None else environ
    if home is None and (named := variables.get(HOME_VARIABLE)):
        home = Path(named)
    if home is not None:
        root = home.expanduser().absolute()
        return Paths(root, root / "config", root / "cache", root / "logs")
    return Paths(
        data=platformdirs.user_data_path(APP_NAME, appauthor=False),
        config=platformdirs.user_config_path(APP_NAME, appauthor=False),
        cache=platformdirs.user_cache_path(APP_NAME, appauthor=False),
        logs=platformdirs.user_log_path(APP_NAME, appauthor=False),
    )


def resources_folder() -> Path:
    """Icons and translations: beside the source, or inside a frozen application."""
    frozen: str | None = getattr(sys, "_MEIPASS", None)
    root = Path(__file__).resolve().parent.parent if frozen is None else Path(frozen)
    return root / "resources"
