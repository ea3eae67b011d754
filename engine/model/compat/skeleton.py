"""A model of transformers without weights: its class, its parameters, and what its layers cache.

Nothing a folder says is run as code, and nothing is fetched. What a model caches of each token is
found by running it once on torch's meta device, where tensors have shapes and no values.
"""

import logging
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from accelerate import init_empty_weights  # type: ignore[import-untyped]  # it ships no types
from huggingface_hub.errors import StrictDataclassError
from transformers import AutoModelForCausalLM, PreTrainedConfig, PreTrainedModel
from transformers.cache_utils import Cache
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from engine.errors import ModelUnsupportedError
from engine.model.compat.modules import is_expert_stack
from engine.model.compat.paged_cache import LayerShape, Probe, StepLayer
from engine.model.config import corrupt

# What transformers raises for a configuration that it cannot make sense of
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ImportError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    StrictDataclassError,
    TypeError,
    ValueError,
)
_MAX_LAYERS = 1_024
_MAX_SIZE = 1 << 24
_PROBE_TOKENS = 3
# its warnings speak to programmers; what concerns the user is a sentence of ours
logging.getLogger("transformers").setLevel(logging.ERROR)
_CODE = frozenset({"auto_map", "trust_remote_code", "attn_implementation", "_attn_implementation"})


def read_settings(values: Mapping[str, Any], model_type: str, folder: Path) -> PreTrainedConfig:
    """The typed configuration for the contents of config.json.

    Raises ModelUnsupportedError (no such architecture, or one that is no plain decoder) or
    ModelCorruptError (values that its own class refuses).
    """
    if model_type not in CONFIG_MAPPING:
        raise _unsupported(folder, f"the architecture {model_type[:40]!a}")
    kept = {key: value for key, value in values.items() if key not in _CODE}
    kept.pop("quantization_config", None)  # unpacked by the engine itself
    try:
        settings: PreTrainedConfig = CONFIG_MAPPING[model_type].from_dict(kept)
        text_settings = settings.get_text_config()
    except FAULTS as error:
        raise corrupt(str(folder), f"its config.json is refused ({_first_line(error)})") from error
    if settings.is_encoder_decoder:
        raise _unsupported(folder, "an encoder beside its decoder")
    if text_settings is not settings:
        raise _unsupported(folder, "other inputs than text")
    if type(settings) not in MODEL_FOR_CAUSAL_LM_MAPPING:
        raise _unsupported(folder, f"the architecture {model_type[:40]!a}")
    _check_sizes(settings, folder)
    return settings


def build_skeleton(
    settings: PreTrainedConfig, dtype: torch.dtype, folder: Path
) -> PreTrainedModel:
    """The model with parameters on the meta device and its small constant buffers on the CPU.

    Raises ModelUnsupportedError for models that keep other state than K and V, and for those that
    read in both directions.
    """
    make: Any = AutoModelForCausalLM.from_config
    try:
        with init_empty_weights():
            model: PreTrainedModel = make(deepcopy(settings), dtype=dtype, trust_remote_code=False)
    except FAULTS as error:
        raise corrupt(
            str(folder), f"no model can be made of its config.json ({_first_line(error)})"
        ) from error
    if getattr(model, "_is_stateful", False):
        raise _unsupported(folder, "a recurrent state beside or in place of the KV cache")
    if any(getattr(module, "is_causal", True) is False for module in model.modules()):
        raise _unsupported(folder, "attention in both directions")
    model.tie_weights()
    # without it, nothing looks for padding in every prompt
    model.config.pad_token_id = None
    model.train(mode=False)
    model.requires_grad_(requires_grad=False)
    return model


def probe_layers(settings: PreTrainedConfig, folder: Path) -> tuple[LayerShape, ...]:
    """What each layer caches of a token, found on the meta device.

    Raises ModelUnsupportedError where a layer caches nothing, or more than K and V once.
    """
    model = build_skeleton(settings, torch.float32, folder)
    torch.nn.Module.to(model, "meta")
    if any(map(is_expert_stack, model.modules())):
        # of all ways to compute experts, this one asks no tensor for its values
        model.set_experts_implementation("batched_mm")
    probes = [Probe() for _ in range(settings.num_hidden_layers)]
    cache = Cache(layers=[StepLayer(0, probe) for probe in probes])
    ids = torch.zeros(1, _PROBE_TOKENS, dtype=torch.int64, device="meta")
    try:
        with torch.inference_mode():
            model(input_ids=ids, cache=cache, use_cache=True)
    except FAULTS as error:
        raise _unsupported(folder, f"a cache of another kind ({_first_line(error)})") from error
    if any(len(probe.shapes) != 1 for probe in probes):
        raise _unsupported(folder, "layers that share, or do without, the KV cache")
    return tuple(probe.shapes[0] for probe in probes)


def _check_sizes(settings: PreTrainedConfig, folder: Path) -> None:
    limits = {"num_hidden_layers": _MAX_LAYERS, "vocab_size": _MAX_SIZE, "hidden_size": _MAX_SIZE}
    for name, limit in limits.items():
        value = getattr(settings, name, None)
        if not isinstance(value, int) or not 0 < value <= limit:
            raise corrupt(str(folder), f"its {name} is {str(value)[:20]}")


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[-1].strip()[:120] if lines else type(error).__name__


def _unsupported(folder: Path, feature: str) -> ModelUnsupportedError:
    return ModelUnsupportedError(
        f"The model at {folder} needs {feature}, which this version cannot run.",
        path=str(folder),
        feature=feature,
    )
