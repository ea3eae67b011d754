"""Commands: what callers put into the engine's queue."""

from dataclasses import dataclass

from engine.api.options import GenerationRequest, ModelOptions


@dataclass(frozen=True, slots=True)
class LoadModel:
    """Load a model in place of the present one, which stays if the new one fails its checks."""

    options: ModelOptions


@dataclass(frozen=True, slots=True)
class UnloadModel:
    """Drop the model and give its memory back."""


@dataclass(frozen=True, slots=True)
class Submit:
    """Compute an answer. While a model loads, the request waits for it."""

    request: GenerationRequest


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop one request; its Finished event (CANCELLED) follows."""

    request_id: str


@dataclass(frozen=True, slots=True)
class CountTokens:
    """Count the tokens of a text; ``ticket`` comes back in TokensCounted."""

    ticket: int
    text: str


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the engine thread after cancelling everything."""


Command = LoadModel | UnloadModel | Submit | Cancel | CountTokens | Shutdown
