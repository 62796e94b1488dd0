"""A run: one fit as a stream of steps, watched, paused and stopped."""
