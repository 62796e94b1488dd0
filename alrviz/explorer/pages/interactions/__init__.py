"""Interactions: a model's score as a sum of effects of single columns, pairs and larger tuples."""
