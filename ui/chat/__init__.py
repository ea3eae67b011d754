"""The chat page: message list, composer, and the quiet line under an answer."""
