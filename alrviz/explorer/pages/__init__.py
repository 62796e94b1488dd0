"""The pages, a folder each; app.py lists them in the order of the rail."""
