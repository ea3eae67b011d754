"""The families that run natively, one file each, named as its model_type."""

from engine.model.architectures import (
    gemma2,
    gemma3,
    granite,
    llama,
    mistral,
    mixtral,
    olmo2,
    phi3,
    qwen2,
    qwen3,
    qwen3_moe,
    smollm3,
)
from engine.model.family import Family

FAMILIES: tuple[Family, ...] = (
    llama.FAMILY,
    mistral.FAMILY,
    qwen2.FAMILY,
    qwen3.FAMILY,
    smollm3.FAMILY,
    gemma2.FAMILY,
    gemma3.FAMILY,
    phi3.FAMILY,
    olmo2.FAMILY,
    granite.FAMILY,
    qwen3_moe.FAMILY,
    mixtral.FAMILY,
)


def find_family(model_type: str) -> Family | None:
    """The family of config.json's ``model_type``; None if we do not run it."""
    return next((family for family in FAMILIES if model_type in family.model_types), None)


def find_gguf_family(architecture: str, *, has_experts: bool = False) -> Family | None:
    """The family of a GGUF file's ``general.architecture``; None if we do not run it.

    Mixtral calls itself llama there, and is told from it by its experts; so is no other family.
    """
    if architecture == llama.FAMILY.gguf and has_experts:
        return mixtral.FAMILY
    return next((family for family in FAMILIES if family.gguf == architecture), None)
