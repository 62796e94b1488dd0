"""Naive versions of every kernel, kept for ever."""
