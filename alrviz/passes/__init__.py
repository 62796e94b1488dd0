"""Passes over the rows: what Python asks of the kernels, with dtypes, chunks, threads and stop tokens in order."""
