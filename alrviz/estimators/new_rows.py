"""Rows of a file as a fitted encoder wants them: its columns, by name, of its kinds.

`read_table` guesses what columns are; here the model knows, so that ten rows are read as a million are. A text stands
for the level it is, else for the number it is; the usual signs of a missing value are missing unless they are levels.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from alrviz.data.dataset import with_date_parts
from alrviz.data.delimited import read_delimited
from alrviz.data.encode import Encoder
from alrviz.data.interpret import interpret, said_numbers, text_of
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.numbers import detect_convention
from alrviz.data.options import DOUBTFUL, MISSING, ReadOptions
from alrviz.data.read import read_values
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.text import TextColumn
from alrviz.errors import TableError, nearest
from alrviz.estimators.score_script import Column
from alrviz.stop import NEVER, StopToken


def read_rows(
    source: Any,
    encoder: Encoder,
    *,
    options: ReadOptions | None = None,
    limits: Limits = NO_LIMITS,
    stop: StopToken = NEVER,
) -> pd.DataFrame:
    """Return the encoder's columns of a path, bytes or an open binary file: CSV, TSV, Parquet, ARFF or xlsx.

    Raises:
        TableError: no such column, a text where a number is wanted, more than `limits`, no table.
    """
    options = replace(options or ReadOptions(), header=True)  # columns are found by their names
    data = load_bytes(source, limits, stop)
    if sniff_format(data) == "delimited":
        found: dict[str, Any] = {}
        columns, options, _ = read_delimited(data, options, limits, stop)
        texts = {column.name: column for column in columns}
        wanted = {column.name for column in encoder.columns_}
        if not wanted <= texts.keys():  # a date stands for what was made of it in training
            others = [column for column in columns if column.name not in wanted]
            values = interpret(others, options, stop=stop).columns
            found = {part.name: part.series for part in with_date_parts(values)}
        found |= _of_text(texts, encoder, options, stop)
    else:
        found = {
            column.name: column.series for column in with_date_parts(read_values(data, options, limits, stop).columns)
        }
    lost = [column.name for column in encoder.columns_ if column.name not in found]
    if lost:
        raise TableError(f"no column {lost[0]!r} in the table{nearest(lost[0], found)} ({len(lost)} not found)")
    return pd.DataFrame({column.name: _typed(found[column.name], column.kind) for column in encoder.columns_})


def _of_text(
    texts: dict[str, TextColumn], encoder: Encoder, options: ReadOptions, stop: StopToken
) -> dict[str, pd.Series]:
    """The encoder's columns among those of text."""
    numeric = [column for column in encoder.columns_ if column.kind == "numeric" and column.name in texts]
    plain = {column.name: texts[column.name].without((*MISSING, *DOUBTFUL)) for column in numeric}
    decimal, thousands = detect_convention(list(plain.values()), options, stop)
    found = {name: said_numbers(column, options, (decimal, thousands)) for name, column in plain.items()}
    for column in encoder.columns_:
        stop.check()
        if column.kind != "numeric" and column.name in texts:
            text, as_level = texts[column.name], Column(column.to_dict(), MISSING)
            values = column.values or ()
            levels: list[Any] = []
            for value in text.levels.to_pylist():
                code = as_level.code(value)
                known = None if as_level.is_missing(value) else value
                levels.append(values[code] if code < len(values) and known is not None else known)
            found[column.name] = pd.Series(np.array([*levels, None], dtype=object)[text.codes], dtype=object)
    return found


def _typed(series: pd.Series, kind: str) -> pd.Series:
    """A column that its file typed: text where numbers are wanted is read as such."""
    if kind == "numeric" and isinstance(series.dtype, pd.CategoricalDtype):
        return said_numbers(text_of(series), ReadOptions(), (".", ""))
    return series
