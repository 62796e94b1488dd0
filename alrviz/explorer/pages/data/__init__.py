"""Data: the table, its columns, how it was read."""
