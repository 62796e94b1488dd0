"""What a fit costs before it runs."""
