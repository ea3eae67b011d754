"""The Answer view: where the time of one answer went."""
