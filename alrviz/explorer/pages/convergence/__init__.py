"""Convergence: fits of several families and solvers, compared step by step."""
