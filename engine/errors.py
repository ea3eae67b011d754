"""Failures a person can act on.

Every subclass carries a stable ``code`` (the window translates by it), one English sentence
(what happened, what was kept, what to do) and the values in that sentence. Knows nothing else.
"""

from collections.abc import Mapping
from typing import ClassVar


class EngineError(Exception):
    """A failure with one sentence for the user.

    ``details`` holds the figures and names of the sentence, so that a translation can use them.
    """

    code: ClassVar[str] = "engine_fault"

    def __init__(self, sentence: str, **details: str | int) -> None:
        super().__init__(sentence)
        self.details: Mapping[str, str | int] = details


class ModelMissingError(EngineError):
    """Nothing readable at the model's path. Details: path."""

    code = "model_missing"


class ModelCorruptError(EngineError):
    """A checkpoint file that breaks its format's rules. Details: path, reason."""

    code = "model_corrupt"


class ModelUnsupportedError(EngineError):
    """A sound file that this engine cannot run. Details: path, feature."""

    code = "model_unsupported"


class TemplateError(EngineError):
    """The chat template is invalid, refuses the conversation, or runs too long. Details: reason."""

    code = "template_failed"


class PromptTooLongError(EngineError):
    """The prompt does not fit the context. Details: needed, limit (both tokens)."""

    code = "prompt_too_long"


class OutOfMemoryError(EngineError):
    """Weights or KV cache do not fit. Details: needed, available (both bytes)."""

    code = "out_of_memory"


class InvalidRequestError(EngineError):
    """A parameter outside its range. Details: reason."""

    code = "invalid_request"


class LoadCancelledError(EngineError):
    """The user cancelled the load, or asked for another model meanwhile."""

    code = "load_cancelled"


class ModelNotLoadedError(EngineError):
    """A request arrived while no model is loaded or loading."""

    code = "model_not_loaded"
