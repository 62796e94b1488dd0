"""The papers' tables and figures, set beside our own numbers."""
