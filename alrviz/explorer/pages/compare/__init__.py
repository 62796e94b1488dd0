"""Compare: recipes on several tables, and the history of runs."""
