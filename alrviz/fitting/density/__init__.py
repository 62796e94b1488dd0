"""Density-based logistic regression: its objective, the weights at fixed bandwidths, and the solver of both."""
