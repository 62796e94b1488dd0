"""What a fitted model says, taken apart: which columns and which interactions, and why a row was predicted so."""
