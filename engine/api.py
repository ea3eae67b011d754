"""What callers of the engine see: commands in, events out.

Small frozen dataclasses of plain values that pickle, so that the same service can later run in a
child process or behind a socket. Imports no torch. Every ``*_ns`` field is a reading of
``time.perf_counter_ns()``, one clock for all threads of the process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from engine.errors import EngineError

Role = Literal["system", "user", "assistant"]


class Precision(StrEnum):
    """How weights are kept in memory. AUTO: INT4 for 4-bit files, else INT8."""

    AUTO = "auto"
    INT4 = "int4"
    INT8 = "int8"
    BF16 = "bf16"
    FP32 = "fp32"


class Device(StrEnum):
    """Where the model runs. AUTO: the GPU when one is found, else the CPU."""

    AUTO = "auto"
    CPU = "cpu"
    CUDA = "cuda"


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
    WEIGHTS = "weights"
    KV_CACHE = "kv_cache"
    WARM_UP = "warm_up"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How tokens are chosen.

    ``temperature`` 0 is greedy. ``top_k`` 0, ``top_p`` 1, ``min_p`` 0 and ``repetition_penalty`` 1
    are off. ``repetition_window`` counts the last known tokens (prompt and answer) that are
    penalised. ``seed`` None draws a fresh seed. ``max_tokens`` None runs to the context's end.
    """

    temperature: float = 0.7
    top_k: int = 0
    top_p: float = 0.9
    min_p: float = 0.05
    repetition_penalty: float = 1.0
    repetition_window: int = 256
    seed: int | None = None
    max_tokens: int | None = None
    stop: tuple[str, ...] = ()
    ignore_eos: bool = False


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What to load, and how.

    ``path``: a .gguf file, or a folder with config.json and .safetensors files.
    ``context_length`` (tokens) None takes the model's own, capped by what memory allows.
    ``threads`` None takes the physical cores. ``kv_budget_bytes`` None sizes the cache for one
    full context (and more where memory is plentiful). ``kv_cache`` False recomputes every step.
    ``max_batch_tokens`` is the token budget of one step, hence the largest prefill chunk.
    """

    path: str
    weights: Precision = Precision.AUTO
    device: Device = Device.AUTO
    context_length: int | None = None
    threads: int | None = None
    kv_budget_bytes: int | None = None
    kv_cache: bool = True
    prefix_cache: bool = True
    max_batch_tokens: int = 512
    max_streams: int = 32


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One answer to compute.

    Exactly one of ``messages`` (through the chat template), ``prompt`` (raw text) or
    ``prompt_ids`` is given. ``sent_ns`` is when the user pressed Send: TTFT counts from it.
    """

    request_id: str
    sent_ns: int
    params: SamplingParams = field(default_factory=SamplingParams)
    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    prompt_ids: tuple[int, ...] | None = None


# ---------------------------------------------------------------------- commands


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


# ---------------------------------------------------------------------- events


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
class ModelInfo:
    """The loaded model, as resolved. Bytes are what is allocated, not what the file holds.

    ``kernels`` says in words which matrix product runs each part.
    """

    path: str
    name: str
    architecture: str
    precision: Precision
    device: Device
    device_name: str
    threads: int
    context_length: int
    trained_context_length: int
    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    num_parameters: int
    file_bytes: int
    weights_bytes: int
    kv_bytes_per_token: int
    kv_budget_bytes: int
    kv_block_size: int
    kv_dtype: str
    load_ns: int
    has_chat_template: bool
    kernels: tuple[str, ...] = ()
    license: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """When one request reached each stage (``*_ns``), and what it counted.

    TTFT's parts add up to it:
      queue      sent -> tokenize_start less load_wait, and tokenize_end -> prefill_start
      load       load_wait (the part of the wait spent on loading the model)
      tokenize   tokenize_start -> tokenize_end (chat template included)
      prefill    prefill_start -> prefill_end (logits of the last prompt token are ready)
      sample     prefill_end -> first_token (the first token is chosen)
      paint      first_token -> its first visible character on the screen; added by the window
    """

    sent_ns: int
    tokenize_start_ns: int
    tokenize_end_ns: int
    prefill_start_ns: int
    prefill_end_ns: int
    first_token_ns: int
    last_token_ns: int
    load_wait_ns: int
    num_prompt_tokens: int
    num_cached_tokens: int
    num_output_tokens: int
    first_paint_ns: int | None = None

    @property
    def queue_ns(self) -> int:
        """Time spent waiting for the engine, loading apart."""
        before = self.tokenize_start_ns - self.sent_ns - self.load_wait_ns
        return before + self.prefill_start_ns - self.tokenize_end_ns

    @property
    def tokenize_ns(self) -> int:
        """Chat template and tokenizer."""
        return self.tokenize_end_ns - self.tokenize_start_ns

    @property
    def prefill_ns(self) -> int:
        """All prefill chunks, first to last."""
        return self.prefill_end_ns - self.prefill_start_ns

    @property
    def sample_ns(self) -> int:
        """Choosing the first token."""
        return self.first_token_ns - self.prefill_end_ns

    @property
    def paint_ns(self) -> int | None:
        """From the first token to the first visible character; None before it is painted."""
        return None if self.first_paint_ns is None else self.first_paint_ns - self.first_token_ns

    @property
    def ttft_ns(self) -> int:
        """Send pressed to first visible character (to the first token while none is painted)."""
        end = self.first_token_ns if self.first_paint_ns is None else self.first_paint_ns
        return end - self.sent_ns

    @property
    def decode_tokens_per_s(self) -> float | None:
        """(n - 1) / (t_last - t_first); None below two tokens."""
        span = self.last_token_ns - self.first_token_ns
        if self.num_output_tokens < 2 or span <= 0:
            return None
        return (self.num_output_tokens - 1) * 1e9 / span

    @property
    def prefill_tokens_per_s(self) -> float | None:
        """Prompt tokens computed (cached ones apart) over prefill time."""
        computed = self.num_prompt_tokens - self.num_cached_tokens
        return computed * 1e9 / self.prefill_ns if self.prefill_ns > 0 else None


@dataclass(frozen=True, slots=True)
class LoadProgress:
    """How far a load is. ``done`` and ``total`` are bytes for WEIGHTS, else steps."""

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
    """The prompt is tokens; its prefill is queued."""

    request_id: str
    num_prompt_tokens: int


@dataclass(frozen=True, slots=True)
class PrefillProgress:
    """A chunk is done. ``cached`` tokens came from the prefix cache and cost nothing."""

    request_id: str
    computed: int
    cached: int
    total: int


@dataclass(frozen=True, slots=True)
class TokensProduced:
    """New tokens of one answer.

    ``text`` may be empty (half a character, or a possible stop string, is held back).
    ``times_ns`` has one entry a token, when the engine chose it; ``is_first`` marks the answer's
    first token.
    """

    request_id: str
    text: str
    token_ids: tuple[int, ...]
    times_ns: tuple[int, ...]
    is_first: bool = False


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
    """The answer to CountTokens; ``count`` None while no tokenizer is loaded."""

    ticket: int
    count: int | None


@dataclass(frozen=True, slots=True)
class EngineStats:
    """Gauges, at most ten times a second while working, and after each change when idle.

    KV: live blocks are those some request refers to, shared ones counted once; cached blocks are
    kept for prefix hits and can be reused at any time. Memory in bytes.
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
    | EngineStats
)
