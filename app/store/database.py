"""Opens the database file: durable, checked, and brought to the present schema.

A file that is damaged is moved aside, one from a later version is refused; neither is changed.
"""

import logging
import sqlite3
from datetime import UTC, datetime
from pathlib import Path

from app.store.errors import StoreNewerError
from app.store.migrations import MIGRATIONS

BUSY_TIMEOUT_MS = 5000
KEPT_BACKUPS = 3
DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
logger = logging.getLogger(__name__)


def open_database(path: Path, backups: Path) -> tuple[sqlite3.Connection, Path | None]:
    """Open or create the database; also tell where a damaged one was moved, if it was.

    Raises StoreNewerError, sqlite3.Error or OSError.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        return _open_checked(path, backups), None
    except sqlite3.DatabaseError as error:
        if not _is_damaged(error):
            raise
        logger.warning("The database is damaged: %s", error)
    moved = _move_aside(path)
    return _open_checked(path, backups), moved


def open_in_memory() -> sqlite3.Connection:
    """A database that is gone when the app ends: for when the disk cannot be used."""
    connection = _connect(":memory:")
    _migrate(connection)
    return connection


def _open_checked(path: Path, backups: Path) -> sqlite3.Connection:
    connection = _connect(str(path))
    try:
        _check_pages(connection)
        version = _version(connection)
        _check_version(version)
        if 0 < version < len(MIGRATIONS):
            _back_up(connection, backups, version)
        _migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_pages(connection: sqlite3.Connection) -> None:
    verdict = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
    if verdict != "ok":
        error = sqlite3.DatabaseError(verdict)
        error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
        raise error


def _check_version(version: int) -> None:
    if version > len(MIGRATIONS):
        raise StoreNewerError(
            f"The conversations were saved by a later version of the app (format {version}, "
            f"this one reads up to {len(MIGRATIONS)}). They were left as they are; what you "
            "write now is not saved. Update the app.",
            found=version,
            known=len(MIGRATIONS),
        )


def _connect(name: str) -> sqlite3.Connection:
    # autocommit: transactions are begun and ended by name in Store
    connection = sqlite3.connect(name, isolation_level=None)
    connection.row_factory = sqlite3.Row
    for pragma in (
        f"busy_timeout = {BUSY_TIMEOUT_MS}",
        "journal_mode = WAL",
        "synchronous = FULL",
        "foreign_keys = ON",
    ):
        try:
            connection.execute(f"PRAGMA {pragma}")
        except BaseException:
            connection.close()
            raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return version


def _migrate(connection: sqlite3.Connection) -> None:
    for number in range(_version(connection), len(MIGRATIONS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            MIGRATIONS[number](connection)
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise


def _back_up(connection: sqlite3.Connection, backups: Path, version: int) -> None:
    backups.mkdir(parents=True, exist_ok=True)
    target = backups / f"conversations-v{version}-{_stamp()}.sqlite3"
    part = target.with_suffix(".part")
    copy = sqlite3.connect(part)
    try:
        connection.backup(copy)
    finally:
        copy.close()
    part.replace(target)
    for old in sorted(backups.glob("conversations-*.sqlite3"))[:-KEPT_BACKUPS]:
        old.unlink()


def _is_damaged(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in DAMAGED


def _move_aside(path: Path) -> Path:
    moved = path.with_name(f"{path.stem}-damaged-{_stamp()}{path.suffix}")
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.replace(moved.with_name(moved.name + suffix))
    path.replace(moved)
    return moved


def _stamp() -> str:
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}"
