"""Llama 2 and 3, SmolLM2: the plain decoder that the other families are told apart from."""

from engine.model.family import Family

FAMILY = Family(("llama",), gguf="llama", is_interleaved=True)
