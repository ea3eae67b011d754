"""The user's settings: declared once each, checked on every way in, stored as one JSON file."""
