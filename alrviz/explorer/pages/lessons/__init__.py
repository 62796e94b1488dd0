"""Lessons: the list of them."""
