"""Runs experiments on the loaded model, keeps what they measured, and shows it on their page."""
