"""Density-based logistic regression: its objective, the weights of fixed bandwidths, the solver of both levels."""
