"""The application: everything that joins the window, the engine and the disk."""
