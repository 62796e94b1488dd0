"""Benchmarks, run by hand: `python -m benchmarks NAME [--data DIR]`, `--list` says which.

A benchmark is a module here: the first line of its docstring is what `--list` shows, `run(options)` prints its tables
and yields its figures as tidy rows (`--csv FILE` keeps them), and `arguments(parser)`, if it has one, adds options of
its own. Modules that begin with an underscore are helpers.
"""
