"""The Inspector: one answer taken apart, and what it was made with."""
