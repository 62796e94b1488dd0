"""Reports: a model as one HTML page, for readers who were not there when it was made."""
