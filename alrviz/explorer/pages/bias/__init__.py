"""Bias and variance, and learning curves."""
