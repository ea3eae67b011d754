"""The paged KV cache: block bookkeeping in plain Python, and the tensors behind it."""
