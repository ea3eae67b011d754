"""From logits to a chosen token: pure steps and a seeded choice."""
