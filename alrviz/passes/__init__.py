"""Passes over the rows: what Python asks of the kernels, with dtypes, chunks, threads and stop tokens in order."""

from alrviz.passes.warm import warm

__all__ = ["warm"]
