"""Replays: one HTML file that plays without Python."""
