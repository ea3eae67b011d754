"""The Machine view: memory, the cache's budget, the roofline, and what the machine did."""
