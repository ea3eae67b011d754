"""The settings panel, built from declarations."""
