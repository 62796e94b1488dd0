"""Replays: a race or path as one HTML file that plays in a browser."""
