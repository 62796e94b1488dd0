"""Pictures: pure functions from tidy frames to figures; nothing here fits, and nothing here is live."""
