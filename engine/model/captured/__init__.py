"""Decode steps whose shapes and addresses never change, captured once and replayed on a GPU."""
