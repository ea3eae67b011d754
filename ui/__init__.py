"""The window: widgets and item models. Knows engine.api, and neither tensors nor threads."""
