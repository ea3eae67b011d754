"""Small widgets shared by the pages."""
