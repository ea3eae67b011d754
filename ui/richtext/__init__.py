"""Incremental Markdown: finished blocks are frozen, only the tail is parsed again."""
