"""Convergence: solvers and families race."""
