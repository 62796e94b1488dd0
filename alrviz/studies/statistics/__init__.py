"""Measures, tests and decompositions: pure functions of results."""
