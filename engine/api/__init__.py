"""What callers of the engine see: commands in, events out.

Small frozen dataclasses of plain values that pickle, so that the same service can later run in a
child process or behind a socket. Imports no torch. Every ``*_ns`` field is a reading of
``time.perf_counter_ns()``, one clock for all threads of the process.
"""

from engine.api.commands import (
    Cancel,
    Command,
    CountTokens,
    LoadModel,
    Prioritise,
    RestoreCache,
    SaveCache,
    Shutdown,
    Submit,
    UnloadModel,
)
from engine.api.diagnosis import Diagnosis, DiagnosisKind, Evidence, Remedy, Sentence
from engine.api.events import (
    CacheRestored,
    CacheSaved,
    EngineStats,
    Event,
    Failure,
    Finished,
    FinishReason,
    LoadProgress,
    LoadStage,
    ModelFailed,
    ModelReady,
    ModelUnloaded,
    PrefillProgress,
    PromptTokenized,
    RequestFailed,
    TokensCounted,
    TokensProduced,
)
from engine.api.model_info import ModelInfo
from engine.api.options import (
    Device,
    GenerationRequest,
    KVPrecision,
    Message,
    ModelOptions,
    Precision,
    Role,
    SamplingParams,
)
from engine.api.reuse import CacheMiss, LeftOut, MissKind, Overflow
from engine.api.sheet import Fit, Foresight, ModelSheet, PrecisionFit
from engine.api.timeline import Timeline

__all__ = [
    "CacheMiss",
    "CacheRestored",
    "CacheSaved",
    "Cancel",
    "Command",
    "CountTokens",
    "Device",
    "Diagnosis",
    "DiagnosisKind",
    "EngineStats",
    "Event",
    "Evidence",
    "Failure",
    "FinishReason",
    "Finished",
    "Fit",
    "Foresight",
    "GenerationRequest",
    "KVPrecision",
    "LeftOut",
    "LoadModel",
    "LoadProgress",
    "LoadStage",
    "Message",
    "MissKind",
    "ModelFailed",
    "ModelInfo",
    "ModelOptions",
    "ModelReady",
    "ModelSheet",
    "ModelUnloaded",
    "Overflow",
    "Precision",
    "PrecisionFit",
    "PrefillProgress",
    "Prioritise",
    "PromptTokenized",
    "Remedy",
    "RequestFailed",
    "RestoreCache",
    "Role",
    "SamplingParams",
    "SaveCache",
    "Sentence",
    "Shutdown",
    "Submit",
    "Timeline",
    "TokensCounted",
    "TokensProduced",
    "UnloadModel",
]
