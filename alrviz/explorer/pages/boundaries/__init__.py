"""Boundaries: maps of what classifiers predict over two columns."""
