"""Fitting: objectives, solvers, the stream of steps, recipes and runs."""
