"""Lessons: read from YAML files, with answers computed from races, fits and studies."""
