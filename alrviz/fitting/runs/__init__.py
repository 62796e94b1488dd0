"""A run: one fit as a stream of steps that can be watched, paused and stopped."""
