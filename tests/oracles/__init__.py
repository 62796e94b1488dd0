"""Naive versions of what the kernels compute, kept for ever."""
