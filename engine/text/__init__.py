"""Tokenizer, chat template and the incremental detokenizer."""
