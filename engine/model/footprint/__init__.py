"""What a model takes in memory, counted before anything is allocated, and where it fits.

One arithmetic for the loader, which refuses or splits by it, and for the planner, which foretells
that. Imports torch only where an open checkpoint is looked at.
"""
