"""What a model will take and how fast it will be, said before it is loaded.

Reads configurations and file headers only. ``plan`` brings the rest together; nothing here
imports torch before a function needs it.
"""
