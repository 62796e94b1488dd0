"""`alrviz predict`: predictions of a saved model for any number of new rows."""

from __future__ import annotations

import argparse
import os
import sys
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from alrviz.cli.options import CommandError, Commands, add_read_options, read_options, require_file
from alrviz.errors import AlrvizError

if TYPE_CHECKING:
    import pandas as pd


def add_to(commands: Commands) -> None:
    """Add the command and its options."""
    parser = commands.add_parser("predict", help="predict new rows with a saved model")
    parser.add_argument("model", type=Path, metavar="MODEL", help="a zip, as save_model and the explorer write it")
    parser.add_argument("rows", type=Path, metavar="ROWS", help="new rows (CSV, JSON, Parquet, ARFF, xlsx ...)")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE", help="CSV or Parquet to write (default: the screen)")
    parser.add_argument("--keep", metavar="COLUMN", action="append", default=[], help="pass a column of ROWS "
                       "through, as an id; may be given several times")  # fmt: skip
    parser.add_argument("--keep-all", action="store_true", help="pass all columns of ROWS through")
    add_read_options(parser)
    parser.set_defaults(command=predict)


def predict(options: argparse.Namespace) -> int:
    """Write the predictions."""
    for file in (options.model, options.rows):
        require_file(file)
    notes: list[str] = []
    n_rows, n_unseen = _write_predictions(_predict_batches(options, notes), options.out)
    for note in notes:
        print(f"alrviz: {note}", file=sys.stderr)
    if options.out is not None:
        print(f"{n_rows:,} rows predicted, {n_unseen:,} with values that training never saw: {options.out}")
    return 0


def _predict_batches(options: argparse.Namespace, notes: list[str]) -> Iterator[pd.DataFrame]:
    from alrviz.estimators.model_file import load_model
    from alrviz.estimators.predict_table import predict_batches

    keep = "all" if options.keep_all else options.keep
    try:
        model = load_model(options.model)
        yield from predict_batches(model, options.rows, options=read_options(options), keep=keep, notes=notes)
    except OSError as error:
        if isinstance(error, AlrvizError):
            raise
        raise CommandError(
            f"{error.filename or str(options.rows)!r} cannot be read: {error.strerror or error}"
        ) from error


def _write_predictions(predictions: Iterator[pd.DataFrame], path: Path | None) -> tuple[int, int]:
    """Write predictions as they come, as Parquet if the file's name ends so, else as CSV.

    Returns the number of rows, and of those with values that training never saw. The file gets its name once it is
    complete, so that a broken run leaves no partial one.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    from alrviz.estimators.predict_table import predictions_csv

    n_rows = n_unseen = 0
    if path is None:
        for batch in predictions:
            sys.stdout.write(predictions_csv(batch, header=not n_rows))
            n_rows += len(batch)
        return n_rows, n_unseen
    draft_file, writer = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part"), None
    try:
        with ExitStack() as exit_stack:
            for batch in predictions:
                if path.suffix == ".parquet":
                    arrow_table = pa.Table.from_pandas(batch, writer and writer.schema, preserve_index=False)
                    writer = writer or exit_stack.enter_context(pq.ParquetWriter(draft_file, arrow_table.schema))
                    writer.write_table(arrow_table)
                else:
                    writer = writer or exit_stack.enter_context(draft_file.open("w", encoding="utf-8", newline=""))
                    writer.write(predictions_csv(batch, header=not n_rows))
                n_rows, n_unseen = n_rows + len(batch), n_unseen + int((batch["unseen"] != "").sum())
        os.replace(draft_file, path)
    except OSError as error:
        if isinstance(error, AlrvizError):
            raise
        raise CommandError(f"{str(path)!r} cannot be written: {error.strerror or error}") from error
    except pa.ArrowException as error:
        raise CommandError(f"{str(path)!r} cannot be written as Parquet ({error}); CSV takes any values") from error
    finally:
        draft_file.unlink(missing_ok=True)
    return n_rows, n_unseen
