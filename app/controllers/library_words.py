"""What can go wrong in the library, as one translated sentence."""

from collections.abc import Callable, Iterable, Mapping

from app.catalog import errors
from app.catalog.remote import BAD_ADDRESS, BROKEN_OFF, NO_ANSWER, NO_CONNECTION, NOT_A_HUB
from app.catalog.scan import Unreachable
from app.controllers.failures import words_for_error
from engine.errors import EngineError
from ui.i18n import mark, tr
from ui.widgets.units import bytes_quantity

_Details = Mapping[str, str | int]
_REASONS: Mapping[str, str] = {
    NO_CONNECTION: mark("no connection"),
    NO_ANSWER: mark("no answer in time"),
    BROKEN_OFF: mark("the connection broke off"),
    BAD_ADDRESS: mark("the address is not valid"),
    NOT_A_HUB: mark("the answer is not a hub's"),
}


def words_for_library(error: Exception) -> str:
    """What happened, what was kept and what to do, in the reader's language."""
    if isinstance(error, EngineError) and (tell := _SENTENCES.get(error.code)) is not None:
        return tell(error.details)
    return words_for_error(error)


def words_for_folders(folders: Iterable[Unreachable]) -> str:
    """A sentence for each folder that cannot be read, one a line."""
    return "\n".join(map(_unreadable, folders))


def _unreadable(folder: Unreachable) -> str:
    if folder.is_missing:
        return tr(
            "{folder} is not there now. If it is on another drive, connect that and search again.",
            folder=folder.path,
        )
    return tr(
        "{folder} cannot be read ({reason}). Check its permissions.",
        folder=folder.path,
        reason=folder.reason,
    )


def _reason(details: _Details) -> str:
    reason = str(details["reason"])
    return tr(_REASONS[reason]) if reason in _REASONS else reason


def _size(details: _Details, key: str) -> str:
    return str(bytes_quantity(int(details[key])))


def _missing(details: _Details) -> str:
    return tr(
        "The hub has no {name}, or shows it to invited people only. Check the spelling.",
        name=details["name"],
    )


def _gated(details: _Details) -> str:
    return tr(
        "The makers of {name} want you to accept their terms first. Do that on the hub's page, "
        "then put an access token into the settings.",
        name=details["name"],
    )


def _denied(details: _Details) -> str:
    return tr(
        "The hub refuses access to {name}. Check the access token in the settings.",
        name=details["name"],
    )


def _unreachable(details: _Details) -> str:
    return tr(
        "The hub cannot be reached ({reason}). What has arrived is kept. Check the connection and "
        "try again.",
        reason=_reason(details),
    )


def _busy(details: _Details) -> str:
    if not details["seconds"]:
        return tr(
            "The hub gets too many requests from here. What has arrived is kept. Try again in "
            "some minutes."
        )
    return tr(
        "The hub gets too many requests from here. What has arrived is kept. Try again in {n} "
        "seconds.",
        n=details["seconds"],
    )


def _fault(details: _Details) -> str:
    return tr(
        "The hub has a fault of its own ({reason}). What has arrived is kept. Try again later.",
        reason=_reason(details),
    )


def _disk_full(details: _Details) -> str:
    return tr(
        "The download needs {needed} on the disk and {free} is free. What has arrived is kept. "
        "Make room, or choose another folder.",
        needed=_size(details, "needed"),
        free=_size(details, "free"),
    )


def _folder_refused(details: _Details) -> str:
    return tr(
        "The folder {folder} cannot be used ({reason}). What has arrived is kept. Choose another "
        "folder.",
        folder=details["folder"],
        reason=details["reason"],
    )


def _damaged(details: _Details) -> str:
    return tr(
        "{name} arrived damaged (its checksum is wrong) and was thrown away. Download it again.",
        name=details["name"],
    )


def _unsafe_name(details: _Details) -> str:
    return tr(
        "The repository holds a file with an unsafe name ({name}). Nothing was downloaded.",
        name=details["name"],
    )


def _not_a_repository(details: _Details) -> str:
    if not details["name"]:
        return tr("Write owner/name, as on the hub's page.")
    return tr(
        "“{name}” is not a repository. Write owner/name, as on the hub's page.",
        name=details["name"],
    )


_SENTENCES: Mapping[str, Callable[[_Details], str]] = {
    errors.HubMissingError.code: _missing,
    errors.HubGatedError.code: _gated,
    errors.HubDeniedError.code: _denied,
    errors.HubUnreachableError.code: _unreachable,
    errors.HubBusyError.code: _busy,
    errors.HubFaultError.code: _fault,
    errors.DiskFullError.code: _disk_full,
    errors.FolderRefusedError.code: _folder_refused,
    errors.DamagedError.code: _damaged,
    errors.UnsafeNameError.code: _unsafe_name,
    errors.InvalidRepositoryError.code: _not_a_repository,
}
