"""Live view of a race."""
