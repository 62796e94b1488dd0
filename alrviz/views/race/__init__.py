"""A race, watched live."""
