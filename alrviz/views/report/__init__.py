"""Reports: a model explained on one self-contained HTML page."""
