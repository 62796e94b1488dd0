"""Interactions: what a model says, taken apart."""
