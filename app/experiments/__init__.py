"""Experiments on the loaded model: what is measured, what was, and files of both. No Qt, no torch."""
