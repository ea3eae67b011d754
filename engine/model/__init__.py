"""From checkpoint files to logits: formats, typed configuration, decoders."""
