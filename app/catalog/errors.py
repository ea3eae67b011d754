"""What can go wrong with finding and fetching models, each as one sentence for the user.

A reason never holds an address with its query or a header, so that no token reaches a log.
"""

import errno

from engine.errors import EngineError

KEPT = "What has arrived is kept."


class HubMissingError(EngineError):
    """No such repository or file, or none that may be seen. Details: name."""

    code = "hub_missing"


class HubGatedError(EngineError):
    """The makers want to be asked first. Details: name."""

    code = "hub_gated"


class HubDeniedError(EngineError):
    """The server refuses: a private repository or a token that is not valid. Details: name."""

    code = "hub_denied"


class HubUnreachableError(EngineError):
    """No connection, or one that broke too often. Details: reason."""

    code = "hub_unreachable"


class HubBusyError(EngineError):
    """Too many requests. Details: seconds (0: not said)."""

    code = "hub_busy"


class HubFaultError(EngineError):
    """The server has a fault, or what answers is no hub. Details: reason."""

    code = "hub_fault"


class DiskFullError(EngineError):
    """The disk has no room for the download. Details: needed, free (both bytes)."""

    code = "download_disk_full"


class FolderRefusedError(EngineError):
    """The folder for models cannot be written. Details: folder, reason."""

    code = "download_folder_refused"


class DamagedError(EngineError):
    """What arrived is not what the hub announced; it was thrown away. Details: name."""

    code = "download_damaged"


class UnsafeNameError(EngineError):
    """A file name that leads elsewhere or that no system can keep. Details: name."""

    code = "download_unsafe_name"


class InvalidRepositoryError(EngineError):
    """What was typed is not a repository's name. Details: name."""

    code = "repository_invalid"


class StoppedError(EngineError):
    """The user stopped the download."""

    code = "download_stopped"


def missing(name: str) -> HubMissingError:
    """No such repository or file."""
    return HubMissingError(
        f"The hub has no {name} that can be seen without an invitation. Check the spelling.",
        name=name,
    )


def gated(name: str) -> HubGatedError:
    """The makers want to be asked first."""
    return HubGatedError(
        f"The makers of {name} want you to accept their terms first. Do that on the hub's page, "
        "then put an access token into the settings.",
        name=name,
    )


def denied(name: str) -> HubDeniedError:
    """The server refuses."""
    return HubDeniedError(
        f"The hub refuses access to {name}. Check the access token in the settings.", name=name
    )


def unreachable(reason: str) -> HubUnreachableError:
    """No connection."""
    return HubUnreachableError(
        f"The hub cannot be reached ({reason}). {KEPT} Check the connection and try again.",
        reason=reason,
    )


def busy(seconds: int) -> HubBusyError:
    """Too many requests."""
    when = f"in {seconds} seconds" if seconds else "in some minutes"
    return HubBusyError(
        f"The hub gets too many requests from here. {KEPT} Try again {when}.", seconds=seconds
    )


def fault(reason: str) -> HubFaultError:
    """The server has a fault of its own."""
    return HubFaultError(
        f"The hub has a fault of its own ({reason}). {KEPT} Try again later.", reason=reason
    )


def disk_full(needed: int, free: int) -> DiskFullError:
    """No room."""
    return DiskFullError(
        f"The download needs {needed / 1e9:.2f} GB more and {free / 1e9:.2f} GB are free. {KEPT} "
        "Make room, or choose another folder.",
        needed=needed,
        free=free,
    )


def damaged(name: str) -> DamagedError:
    """Not what was announced."""
    return DamagedError(
        f"{name} arrived damaged (its checksum is wrong) and was thrown away. Download it again.",
        name=name,
    )


def unsafe_name(name: str) -> UnsafeNameError:
    """A name that leads elsewhere."""
    shown = ascii(name[:80])
    return UnsafeNameError(
        f"The repository holds a file with an unsafe name ({shown}). Nothing was downloaded.",
        name=shown,
    )


def of_disk(error: OSError, folder: str, needed: int, free: int) -> EngineError:
    """Whatever the file system said while a download was written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return disk_full(needed, free)
    reason = error.strerror or "it cannot be written"
    return FolderRefusedError(
        f"The folder {folder} cannot be used ({reason}). {KEPT} Choose another folder.",
        folder=folder,
        reason=reason,
    )
