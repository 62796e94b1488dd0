"""Boundaries: what classifiers make of two columns."""
