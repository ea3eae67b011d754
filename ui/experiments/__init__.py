"""The page of experiments: which there are, one run of one, its charts, and two runs compared."""
