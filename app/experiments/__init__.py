"""Experiments on the loaded model: what is measured, and what was. No Qt, no torch."""
