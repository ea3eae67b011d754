"""Any architecture without a native decoder, through transformers' own model classes.

The modules here are the only ones of the engine that import transformers and accelerate, which
takes seconds: whoever needs them imports them inside a function.
"""
