"""What can go wrong with the database, each as one sentence for the user."""

import sqlite3

from engine.api import Failure
from engine.errors import EngineError

KEPT = "What is on the screen stays there."


class StoreError(EngineError):
    """The database did not take or give what it was asked for. Details: reason."""

    code = "store_failed"


class StoreFullError(StoreError):
    """No space is left on the disk."""

    code = "store_full"


class StoreReadOnlyError(StoreError):
    """The database or its folder cannot be written."""

    code = "store_read_only"


class StoreNewerError(StoreError):
    """A later version of the app wrote the database. Details: found, known."""

    code = "store_newer"


def store_error(error: sqlite3.Error) -> StoreError:
    """Turn a database error into the failure a user can act on."""
    # the low byte is the primary code; extended codes refine it
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if code == sqlite3.SQLITE_FULL:
        return StoreFullError(
            f"The disk is full, so the conversation could not be saved. {KEPT} Free some space."
        )
    if code in {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}:
        return StoreReadOnlyError(
            "The folder of the conversations cannot be written, so nothing was saved. "
            f"{KEPT} Check its permissions."
        )
    return StoreError(
        f"The conversation could not be saved ({error}). {KEPT} Try again.", reason=str(error)
    )


def failure_of(error: Exception) -> Failure:
    """Any error of a storage task as a value with one sentence."""
    if isinstance(error, EngineError):
        return Failure.of(error)
    return Failure.of(StoreError(f"Something went wrong ({error}). {KEPT}", reason=str(error)))
