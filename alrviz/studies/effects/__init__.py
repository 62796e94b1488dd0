"""Effects of a fitted model: which columns and interactions matter, and why a row is predicted as it is."""
