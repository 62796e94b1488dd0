"""Values that describe a fit of density-based logistic regression (dlr)."""
