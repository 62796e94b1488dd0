"""`alrviz export`: a saved model as SQL."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from alrviz.cli.options import CommandError, Commands, require_file


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("export", help="write a saved model as SQL: tables, and a view that predicts")
    parser.add_argument("model", type=Path, metavar="MODEL", help="a zip, as save_model and the explorer write it")
    parser.add_argument("--sql", metavar="DATABASE", required=True, help="duckdb, sqlite or postgres")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="file to write (default: the screen)")
    parser.add_argument("--rows", default="rows", metavar="TABLE", help="the table or view whose rows the view "
                        "predicts (default: rows)")  # fmt: skip
    parser.add_argument("--name", default="model", metavar="NAME", help="what the names of the model's tables and its "
                        "view begin with (default: model)")  # fmt: skip
    parser.set_defaults(command=export)


def export(options: argparse.Namespace) -> int:
    """Write a saved model as SQL to a file or the screen; return the exit code."""
    from alrviz.estimators.model_file import load_model
    from alrviz.estimators.model_sql import save_sql

    require_file(options.model)
    out = sys.stdout.buffer if options.out is None else options.out
    try:
        save_sql(load_model(options.model), out, options.sql, rows=options.rows, name=options.name)
    except OSError as error:
        raise CommandError(f"{error.filename or str(options.out)!r}: {error.strerror or error}") from error
    if options.out is not None:
        megabytes = options.out.stat().st_size / 1e6
        print(
            f"{megabytes:,.1f} MB: {options.out}; run it where there is a table {options.rows!r}, then: "
            f'SELECT * FROM "{options.name}_predictions"'
        )
    return 0
