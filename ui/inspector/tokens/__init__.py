"""The Tokens view: a prompt and its answer as the model reads and writes them."""
