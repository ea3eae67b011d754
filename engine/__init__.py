"""The inference engine: headless, knows no Qt. Callers see engine.api and engine.errors only."""
