"""SQLite storage of conversations."""
