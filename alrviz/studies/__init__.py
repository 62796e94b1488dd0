"""Studies: many fits set side by side, as tidy rows."""
