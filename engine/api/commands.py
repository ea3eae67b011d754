"""Commands: what callers put into the engine's queue."""

from dataclasses import dataclass

from engine.api.cache_map import MapCache
from engine.api.inspection import ExplainAnswer, ExportTrace, NotePaint
from engine.api.options import GenerationRequest, Message, ModelOptions
from engine.api.profile import ProfileModel
from engine.api.tokens import CancelInspection, InspectTokens


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
    """Count the tokens of a text, and of ``messages`` as the model would be given them.

    ``ticket`` comes back in TokensCounted.
    """

    ticket: int
    text: str
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True)
class Prioritise:
    """Give a request that is waiting or running another priority; unknown ids are ignored."""

    request_id: str
    priority: int


@dataclass(frozen=True, slots=True)
class SaveCache:
    """Keep what is cached of a conversation's last prompt and answer in a file of its own.

    A file of the same model that holds the beginning is added to. CacheSaved follows.
    """

    conversation_id: str
    path: str


@dataclass(frozen=True, slots=True)
class RestoreCache:
    """Bring a conversation's cache back from its file, if that fits the model. CacheRestored follows."""

    conversation_id: str
    path: str


@dataclass(frozen=True, slots=True)
class Shutdown:
    """End the engine thread after cancelling everything."""


Command = (
    LoadModel
    | UnloadModel
    | Submit
    | Cancel
    | CountTokens
    | Prioritise
    | SaveCache
    | RestoreCache
    | MapCache
    | ProfileModel
    | InspectTokens
    | CancelInspection
    | ExplainAnswer
    | NotePaint
    | ExportTrace
    | Shutdown
)
