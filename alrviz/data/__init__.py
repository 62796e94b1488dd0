"""Data: reading tables, guessing kinds, data sets, encoding columns as levels, demo sets."""
