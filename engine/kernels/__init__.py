"""Products and whole decoding steps in native code, where this machine and installation have it."""
