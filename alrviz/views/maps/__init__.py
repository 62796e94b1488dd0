"""Decision maps."""
