"""What held an answer up: pure functions from what was observed to a sentence and remedies."""
