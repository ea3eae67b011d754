"""Which tokens each step computes. Plain Python: lists, dicts and ints, no torch."""
