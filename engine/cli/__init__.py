"""The engine without a window: one module for each subcommand of python -m engine."""
