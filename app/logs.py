"""The log: a rotating file, and warnings on the terminal. Never holds a message of a chat."""

import logging
import sys
from logging.handlers import RotatingFileHandler
from pathlib import Path

LOG_NAME = "tokentide.log"
MAX_BYTES = 1_000_000
NUM_BACKUPS = 3
FORMAT = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"


def start_logging(folder: Path) -> list[logging.Handler]:
    """Send records to ``folder`` and to stderr; return the handlers for ``stop_logging``.

    A folder that cannot be written costs the file only, with a warning on stderr.
    """
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    handlers: list[logging.Handler] = []
    if sys.stderr is not None:  # None in a windowed program on Windows
        terminal = logging.StreamHandler()
        terminal.setLevel(logging.WARNING)
        terminal.setFormatter(logging.Formatter("%(levelname)s: %(message)s"))
        handlers.append(terminal)
        root.addHandler(terminal)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = RotatingFileHandler(
            folder / LOG_NAME, maxBytes=MAX_BYTES, backupCount=NUM_BACKUPS, encoding="utf-8"
        )
    except OSError as error:
        logging.getLogger(__name__).warning("No log file: %s", error)
        return handlers
    file.setFormatter(logging.Formatter(FORMAT))
    root.addHandler(file)
    return [*handlers, file]


def stop_logging(handlers: list[logging.Handler]) -> None:
    """Detach and close what ``start_logging`` returned."""
    for handler in handlers:
        logging.getLogger().removeHandler(handler)
        handler.close()
