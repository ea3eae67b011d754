"""The tokenizer and the chat template that come with a checkpoint."""

from collections.abc import Mapping
from typing import Any

from engine.text.template import ChatTemplate
from engine.text.tokenizer import Tokenizer, tokenizer_from_gguf

_TEMPLATE = "tokenizer.chat_template"


def read_text_parts(metadata: Mapping[str, Any], path: str) -> tuple[Tokenizer, ChatTemplate]:
    """Build both from a GGUF header; a plain transcript stands in for a missing template.

    Raises ModelUnsupportedError, ModelCorruptError or TemplateError.
    """
    tokenizer = tokenizer_from_gguf(metadata, path)
    bos = "" if tokenizer.bos_id is None else tokenizer.token_text(tokenizer.bos_id)
    eos = tokenizer.token_text(min(tokenizer.eos_ids)) if tokenizer.eos_ids else ""
    source = metadata.get(_TEMPLATE)
    if not isinstance(source, str) or not source.strip():
        return tokenizer, ChatTemplate.plain(bos, eos)
    return tokenizer, ChatTemplate(source, bos, eos)
