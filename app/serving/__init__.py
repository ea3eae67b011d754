"""The model for other programs on this computer: OpenAI's protocol on loopback. No Qt, no torch."""
