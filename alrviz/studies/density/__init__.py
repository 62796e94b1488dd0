"""What is told of a fit of density-based logistic regression."""
