"""What a caller asks for: a model and how to run it, an answer and how to sample it."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from engine.api.reuse import Overflow

Role = Literal["system", "user", "assistant"]


class Precision(StrEnum):
    """How weights are kept in memory. AUTO: INT4 for 4-bit files, else INT8."""

    AUTO = "auto"
    INT4 = "int4"
    INT8 = "int8"
    BF16 = "bf16"
    FP32 = "fp32"


class KVPrecision(StrEnum):
    """How keys and values are kept. AUTO: the narrowest type that costs neither speed nor answers.

    BF16 is float16 where the hardware has no bfloat16. INT8 and INT4 keep a scale for each token
    and head.
    """

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

    ``typical_p`` 1 and the other penalties at 0 are off, too: ``presence_penalty`` is taken once
    from the logit of each token that the answer has, ``frequency_penalty`` each time it has it;
    ``logit_bias`` adds to the logits of (token id, value) pairs. ``json_schema``, a JSON Schema as
    text, lets only answers through that it describes.
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
    typical_p: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    json_schema: str | None = None


@dataclass(frozen=True, slots=True)
class ModelOptions:
    """What to load, and how.

    ``path``: a .gguf file, or a folder with config.json and .safetensors files.
    ``context_length`` (tokens) None takes the model's own, capped by what memory allows; one by
    number is capped by the model's own, and must fit.
    ``threads`` None takes the physical cores. ``kv_budget_bytes`` None sizes the cache for one
    full context (and more where memory is plentiful). ``gpu_budget_bytes`` caps what weights and
    cache take on a GPU (None: what is free); layers that do not fit in it run on the CPU.
    ``calibrated``: INT4 weights chosen with an eye on the model's own activations, made once and
    kept; other precisions ignore it. ``kv`` is how the cache keeps keys and values.
    ``kv_cache`` False recomputes every step.
    ``max_batch_tokens`` is the token budget of one step, hence the largest prefill chunk;
    ``adaptive_chunks`` False lets a prompt always take all of it, however long that holds up
    others. ``draft`` guesses tokens ahead, which never changes an answer: "ngram" looks up what
    followed before, any other text is the path of a small model with the same vocabulary.
    ``prefix_cache_bytes`` caps what is kept of ended requests (None: the whole cache).
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
    gpu_budget_bytes: int | None = None
    calibrated: bool = False
    kv: KVPrecision = KVPrecision.AUTO
    adaptive_chunks: bool = True
    prefix_cache_bytes: int | None = None
    draft: str | None = None


@dataclass(frozen=True, slots=True)
class GenerationRequest:
    """One answer to compute.

    Exactly one of ``messages`` (through the chat template), ``prompt`` (raw text) or
    ``prompt_ids`` is given; where the last of the messages is the assistant's own, the answer
    goes on from its text. ``sent_ns`` is when the user pressed Send: TTFT counts from it.
    ``conversation_id`` names the conversation, so that lost cache hits can be explained and its
    cache kept. Requests of higher ``priority`` go first. ``overflow``: what is done with messages
    that do not fit.
    ``kv_cache`` False recomputes every step of this answer, and ``guess_ahead`` False lets nothing
    guess for it: for experiments.
    """

    request_id: str
    sent_ns: int
    params: SamplingParams = field(default_factory=SamplingParams)
    messages: tuple[Message, ...] = ()
    prompt: str | None = None
    prompt_ids: tuple[int, ...] | None = None
    conversation_id: str | None = None
    priority: int = 0
    overflow: Overflow = Overflow.STOP
    kv_cache: bool = True
    guess_ahead: bool = True
