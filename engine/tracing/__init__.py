"""Records what the engine does for each answer, and lays it out: stages, gaps, ceilings, a trace."""
