"""The tokenizer and the chat template that come with a checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import ModelCorruptError
from engine.text.hf_folder import template_from_folder, tokenizer_from_folder
from engine.text.template import ChatTemplate, template_from_gguf
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf


def read_text_parts(metadata: Mapping[str, Any], path: str) -> tuple[Tokenizer, ChatTemplate]:
    """Build both from a GGUF header; a plain transcript stands in for a missing template.

    Raises ModelUnsupportedError, ModelCorruptError or TemplateError.
    """
    tokenizer = tokenizer_from_gguf(metadata, path)
    return tokenizer, template_from_gguf(metadata, tokenizer)


def read_folder_text_parts(folder: Path) -> tuple[Tokenizer, ChatTemplate]:
    """Build both from tokenizer.json and its neighbours in a model folder.

    Raises ModelMissingError, ModelUnsupportedError, ModelCorruptError or TemplateError.
    """
    tokenizer = tokenizer_from_folder(folder)
    return tokenizer, template_from_folder(folder, tokenizer)


def check_vocabulary(tokenizer: Tokenizer, vocab_size: int, path: str) -> None:
    """Check that every ordinary token has a row in the embedding of ``vocab_size`` rows.

    Control tokens past the end are let through: some models name inputs (pictures) that their
    text weights do not know. Raises ModelCorruptError.
    """
    beyond = range(vocab_size, tokenizer.vocab_size)
    if all(tokenizer.is_special(token_id) for token_id in beyond):
        return
    reason = f"its tokenizer has {tokenizer.vocab_size} tokens and its embedding {vocab_size}"
    raise ModelCorruptError(
        f"The tokenizer at {path} belongs to another model: {reason}. Put the right tokenizer "
        "files beside the weights.",
        path=path,
        reason=reason,
    )
