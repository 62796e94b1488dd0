"""Views of density-based logistic regression."""
