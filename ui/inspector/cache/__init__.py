"""The Cache view: whose the blocks are, how far they reach, and what other caches would take."""
