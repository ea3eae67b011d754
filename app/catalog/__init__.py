"""Models: those on this computer, and those that can be fetched. No Qt, no torch."""
