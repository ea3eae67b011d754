"""Events: what the engine tells its callers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from engine.api.cache_map import CacheMapped
from engine.api.inspection import AnswerExplained, TraceExported
from engine.api.machine import GpuMemory
from engine.api.model_info import ModelInfo
from engine.api.profile import ModelProfiled
from engine.api.reuse import LeftOut
from engine.api.timeline import Timeline
from engine.api.tokens import InspectionProgress, TokensInspected
from engine.errors import EngineError


class FinishReason(StrEnum):
    """Why an answer ended."""

    END_OF_TEXT = "end_of_text"
    STOP_STRING = "stop_string"
    MAX_TOKENS = "max_tokens"
    CONTEXT_FULL = "context_full"
    CANCELLED = "cancelled"
    FAILED = "failed"


class LoadStage(StrEnum):
    """What a load is doing, in order."""

    STARTING = "starting"
    READING_HEADER = "reading_header"
    TOKENIZER = "tokenizer"
    CALIBRATION = "calibration"
    WEIGHTS = "weights"
    KV_CACHE = "kv_cache"
    WARM_UP = "warm_up"


@dataclass(frozen=True, slots=True)
class Failure:
    """An EngineError as a value: code, English sentence, and the values in the sentence."""

    code: str
    message: str
    details: Mapping[str, str | int] = field(default_factory=dict)

    @classmethod
    def of(cls, error: EngineError) -> "Failure":
        """Turn a raised error into a value that crosses threads."""
        return cls(error.code, str(error), dict(error.details))


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far a load is. ``done`` and ``total`` are bytes for WEIGHTS, else steps.

    CALIBRATION happens once a model, and takes minutes.
    """

    path: str
    stage: LoadStage
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ModelReady:
    """The model answers from now on."""

    info: ModelInfo


@dataclass(frozen=True, slots=True)
class ModelUnloaded:
    """No model is loaded."""


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """The load failed. ``kept`` is the model that still answers, if any."""

    path: str
    failure: Failure
    kept: ModelInfo | None = None


@dataclass(frozen=True, slots=True)
class PromptTokenized:
    """The prompt is tokens; its prefill is queued. ``left_out``: what had no place in it."""

    request_id: str
    num_prompt_tokens: int
    left_out: LeftOut | None = None


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """A chunk is done.

    ``computed`` of the prompt's ``total`` tokens are in the cache; ``cached`` of these came from
    the prefix cache and cost nothing. The step that computed the chunk went from ``start_ns`` to
    ``end_ns`` (0: not measured).
    """

    request_id: str
    computed: int
    cached: int
    total: int
    start_ns: int = field(default=0, compare=False)  # when, and not what
    end_ns: int = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class TokensProduced:
    """New tokens of one answer.

    ``text`` may be empty (half a character, or a possible stop string, is held back).
    ``times_ns`` has one entry a token, when the engine chose it; ``is_first`` marks the answer's
    first token, which carries the ``timeline`` so far: everything of TTFT but the painting.
    ``num_accepted`` of the tokens were guessed ahead and found right; ``guessed`` are the ranges
    (start, end) of ``text`` that came with these. ``reasoning`` is new text of what the model says
    to itself before it answers, where its template marks that, and ``num_reasoning`` its tokens.
    ``num_preemptions``: times so far that the answer gave its cache up to others.
    """

    request_id: str
    text: str
    token_ids: tuple[int, ...]
    times_ns: tuple[int, ...]
    is_first: bool = False
    timeline: Timeline | None = None
    num_accepted: int = 0
    reasoning: str = ""
    guessed: tuple[tuple[int, int], ...] = ()
    num_reasoning: int = 0
    num_preemptions: int = 0


@dataclass(frozen=True, slots=True)
class Finished:
    """The answer is complete: all its text has been sent. ``timeline`` None: never prefilled."""

    request_id: str
    reason: FinishReason
    timeline: Timeline | None


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """The answer ended by a failure; text sent before stays valid."""

    request_id: str
    failure: Failure
    timeline: Timeline | None = None


@dataclass(frozen=True, slots=True)
class TokensCounted:
    """The answer to CountTokens; ``count`` None while no tokenizer is loaded.

    ``prompt``: tokens of the rendered messages; None where none were given or none can be rendered.
    """

    ticket: int
    count: int | None
    prompt: int | None = None


@dataclass(frozen=True, slots=True)
class CacheSaved:
    """The end of SaveCache: the file holds ``num_tokens``, of which ``num_written`` are new.

    0 tokens: there was nothing to keep, or it could not be written (the log says why).
    """

    conversation_id: str
    num_tokens: int
    num_written: int


@dataclass(frozen=True, slots=True)
class CacheRestored:
    """The end of RestoreCache: ``num_tokens`` of the file are in the cache.

    0 tokens: there is no file, or it is damaged or another model's (the log says which).
    """

    conversation_id: str
    num_tokens: int


@dataclass(frozen=True, slots=True)
class KVKindStats:
    """Blocks of one kind of layers: "full", "window" or "compressed".

    ``window``: tokens that a layer sees (None: all). ``block_bytes``: one block in all ``layers``.
    """

    kind: str
    layers: int
    window: int | None
    live_blocks: int
    cached_blocks: int
    total_blocks: int
    block_bytes: int


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Gauges, at most ten times a second while working, and after each change when idle.

    KV: live blocks are those some request refers to, shared ones counted once; cached blocks are
    kept for prefix hits and can be reused at any time. These are the blocks of the first of
    ``kv_kinds``, the layers that look back over everything where there are any; blocks of other
    kinds have other sizes, so that bytes are summed over all kinds, as ``kv_live_bytes``,
    ``kv_cached_bytes`` and ``kv_total_bytes`` do. Memory in bytes. ``is_guessing_at_rest``:
    guesses do not pay at present, so none are made. ``runtime_bytes``: the process as it was when
    the engine started, before any model (0: not measured). ``gpu``: its memory, where the model
    runs on one.
    """

    at_ns: int
    kv_live_tokens: int
    kv_live_blocks: int
    kv_cached_blocks: int
    kv_total_blocks: int
    kv_block_bytes: int
    num_running: int
    num_waiting: int
    weights_bytes: int
    kv_allocated_bytes: int
    process_bytes: int
    other_programs_bytes: int
    total_memory_bytes: int
    is_guessing_at_rest: bool = False
    runtime_bytes: int = 0
    gpu: GpuMemory | None = None
    kv_kinds: tuple[KVKindStats, ...] = ()

    @property
    def kv_live_bytes(self) -> int:
        """Bytes of live blocks, of all kinds of layers."""
        return sum(kind.live_blocks * kind.block_bytes for kind in self.kv_by_kind)

    @property
    def kv_cached_bytes(self) -> int:
        """Bytes of cached blocks, of all kinds of layers."""
        return sum(kind.cached_blocks * kind.block_bytes for kind in self.kv_by_kind)

    @property
    def kv_total_bytes(self) -> int:
        """Bytes of all blocks that can hold something, of all kinds of layers."""
        return sum(kind.total_blocks * kind.block_bytes for kind in self.kv_by_kind)

    @property
    def kv_by_kind(self) -> tuple[KVKindStats, ...]:
        """``kv_kinds``; where it is empty, the one that the other fields tell of."""
        if self.kv_kinds:
            return self.kv_kinds
        blocks = (self.kv_live_blocks, self.kv_cached_blocks, self.kv_total_blocks)
        return (KVKindStats("full", 0, None, *blocks, self.kv_block_bytes),)


Event = (
    LoadProgress
    | ModelReady
    | ModelUnloaded
    | ModelFailed
    | PromptTokenized
    | PrefillProgress
    | TokensProduced
    | Finished
    | RequestFailed
    | TokensCounted
    | CacheSaved
    | CacheRestored
    | CacheMapped
    | ModelProfiled
    | InspectionProgress
    | TokensInspected
    | EngineStats
    | AnswerExplained
    | TraceExported
)
