"""The library: models on this computer, and models to download."""
