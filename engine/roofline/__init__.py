"""The ceilings of this machine, measured: never a figure from a datasheet."""
