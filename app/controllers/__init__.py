"""One controller a page: turns what the user does into commands, and events into what is shown."""
