"""Lessons: read from YAML files, their answers computed from what ran."""
