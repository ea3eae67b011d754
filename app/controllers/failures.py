"""Failures of storage, and any other, as one translated sentence."""

from app.store.documents import ChatFileError
from app.store.errors import (
    StoreError,
    StoreFullError,
    StoreNewerError,
    StoreReadOnlyError,
    failure_of,
)
from engine.api import Failure
from engine.errors import EngineError, InvalidRequestError
from ui.failures import sentence
from ui.i18n import tr


def words_for(failure: Failure) -> str:
    """What happened, what was kept and what to do, in the reader's language."""
    details = failure.details
    if failure.code == StoreFullError.code:
        return tr(
            "The disk is full, so the conversation could not be saved. What is on the screen stays "
            "there. Free some space."
        )
    if failure.code == StoreReadOnlyError.code:
        return tr(
            "The folder of the conversations cannot be written, so nothing was saved. What is on "
            "the screen stays there. Check its permissions."
        )
    if failure.code == StoreNewerError.code and {"found", "known"} <= details.keys():
        return tr(
            "The conversations were saved by a later version of the app (format {found}, this one "
            "reads up to {known}). They were left as they are; what you write now is not saved. "
            "Update the app.",
            found=details["found"],
            known=details["known"],
        )
    if failure.code == ChatFileError.code and "reason" in details:
        return tr(
            "No chat could be read from this file ({reason}). Nothing was changed.",
            reason=details["reason"],
        )
    if failure.code == StoreError.code and "reason" in details:
        return tr(
            "The conversations could not be reached ({reason}). What is on the screen stays there. "
            "Try again.",
            reason=details["reason"],
        )
    return sentence(failure)


def words_of_program(failure: Failure) -> str:
    """The same of a program that measures: no message and no text of an answer is concerned."""
    if failure.code == InvalidRequestError.code and "reason" in failure.details:
        return tr(
            "It cannot be measured with these settings ({reason}). Nothing was changed.",
            reason=failure.details["reason"],
        )
    if failure.code == EngineError.code:
        return tr("It could not be measured. The engine says: {reason}", reason=failure.message)
    return words_for(failure)


def words_for_error(error: Exception) -> str:
    """The sentence for what a storage task raised."""
    return words_for(failure_of(error))
