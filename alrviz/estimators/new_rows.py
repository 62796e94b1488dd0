"""Rows of a file as a fitted encoder wants them: its columns, by name, of its kinds.

`read_table` guesses what columns are; here the model knows, so that ten rows are read as a million are. A text stands
for the level it is, else for the number it is; the usual signs of a missing value are missing unless they are levels.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from alrviz.data.dataset import with_date_parts
from alrviz.data.delimited import read_delimited
from alrviz.data.encode import Encoder
from alrviz.data.interpret import interpret, said_numbers, text_of
from alrviz.data.limits import NO_LIMITS, Limits
from alrviz.data.numbers import detect_convention
from alrviz.data.options import DOUBTFUL, MISSING, ReadOptions
from alrviz.data.other_sources import is_taken
from alrviz.data.read import decide, raw_of_bytes, read_raw
from alrviz.data.reading import number_pattern
from alrviz.data.source import load_bytes, sniff_format
from alrviz.data.text import TextColumn
from alrviz.errors import TableError, nearest
from alrviz.estimators.score_script import Column
from alrviz.stop import NEVER, StopToken

_TRIED = 10_000  # levels tried one by one, a tenth of a millisecond each


class UnreadValues(dict[int, list[str]]):
    """Values that are no number where one is wanted, by row: "age=unknown (not a number)"."""


@dataclass(frozen=True, eq=False)
class NewRows:
    """Rows of a file: the encoder's columns, all columns as the file has them, and what could not be read."""

    X: pd.DataFrame
    given: pd.DataFrame
    unread: UnreadValues


def read_rows(
    source: Any,
    encoder: Encoder,
    *,
    options: ReadOptions | None = None,
    limits: Limits = NO_LIMITS,
    stop: StopToken = NEVER,
) -> NewRows:
    """Return the encoder's columns of a path, paths, bytes or an open binary file: CSV, TSV, Parquet, ARFF or xlsx.

    A text where a number is wanted is missing, and told of: one bad value is not to refuse a file; a column without
    any number is.

    Raises:
        TableError: no such column, one of no number where numbers are wanted, more than `limits`, no table.
    """
    options = replace(options or ReadOptions(), header=True)  # columns are found by their names
    unread, several = UnreadValues(), is_taken(source)
    data = b"" if several else load_bytes(source, limits, stop, [])
    if not several and sniff_format(data) == "delimited":
        found: dict[str, Any] = {}
        raw = read_delimited(data, options, limits, stop)
        options = raw.options
        texts = {column.name: column for column in raw.columns if isinstance(column, TextColumn)}
        wanted = {column.name for column in encoder.columns_}
        if not wanted <= texts.keys():  # a date stands for what was made of it in training
            others = [column for name, column in texts.items() if name not in wanted]
            values = interpret(others, options, stop=stop).columns
            found = {part.name: part.series for part in with_date_parts(values)}
        found |= _of_text(texts, encoder, options, unread, stop)
        given = {name: _as_text(column) for name, column in texts.items()}
    else:
        raw = read_raw(source, options, limits, stop, []) if several else raw_of_bytes(data, options, limits, stop)
        read = decide(raw, stop).columns
        found = {column.name: column.series for column in with_date_parts(read)}
        given = {column.name: column.series for column in read}
    lost = [column.name for column in encoder.columns_ if column.name not in found]
    if lost:
        raise TableError(f"no column {lost[0]!r} in the table{nearest(lost[0], found)} ({len(lost)} not found)")
    X = pd.DataFrame({column.name: _typed(found[column.name], column.kind, unread) for column in encoder.columns_})
    return NewRows(X, pd.DataFrame(given), unread)


def _as_text(column: TextColumn) -> pd.Series:
    """A column as its file has it."""
    return pd.Series(np.array([*column.levels.to_pylist(), None], dtype=object)[column.codes], dtype=object)


def _numbers(
    column: TextColumn, options: ReadOptions, marks: tuple[str, str] | None, unread: UnreadValues
) -> pd.Series:
    """A column as numbers; values that are none are missing, and noted."""
    while True:
        try:
            return said_numbers(column, options, marks)[0]
        except TableError:
            good = _good(column, options, marks)
            if good.all() or not good.any():  # nothing that some values are to blame for
                raise
            levels = column.levels.to_pylist()
            for row in np.flatnonzero((column.codes >= 0) & ~np.append(good, True)[column.codes]).tolist():
                unread.setdefault(row, []).append(f"{column.name}={levels[column.codes[row]]} (not a number)")
            column = column.without([levels[k] for k in np.flatnonzero(~good)])


def _good(column: TextColumn, options: ReadOptions, marks: tuple[str, str] | None) -> np.ndarray:
    """Which levels are numbers; those that look like none are tried one by one, as far as they are few."""
    pattern = number_pattern(*(marks or detect_convention([column], options)))
    good = pc.match_substring_regex(column.levels, pattern).to_numpy(zero_copy_only=False).copy()
    suspects = np.flatnonzero(~good) if not good.all() else np.arange(len(good))  # all look like numbers: one overflows
    for level in suspects[:_TRIED]:
        good[level] = _is_number(column, level, options, marks)
    return good


def _is_number(column: TextColumn, level: int, options: ReadOptions, marks: tuple[str, str] | None) -> bool:
    alone = replace(column, levels=column.levels.slice(level, 1), codes=np.zeros(1, column.codes.dtype), typed=None)
    try:
        said_numbers(alone, options, marks)
    except TableError:
        return False
    return True


def _of_text(
    texts: dict[str, TextColumn], encoder: Encoder, options: ReadOptions, unread: UnreadValues, stop: StopToken
) -> dict[str, pd.Series]:
    """The encoder's columns among those of text."""
    numeric = [column for column in encoder.columns_ if column.kind == "numeric" and column.name in texts]
    plain = {column.name: texts[column.name].without((*MISSING, *DOUBTFUL)) for column in numeric}
    decimal, thousands = detect_convention(list(plain.values()), options, stop)
    found = {name: _numbers(column, options, (decimal, thousands), unread) for name, column in plain.items()}
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


def _typed(series: pd.Series, kind: str, unread: UnreadValues) -> pd.Series:
    """A column that its file typed: text where numbers are wanted is read as such."""
    if kind == "numeric" and isinstance(series.dtype, pd.CategoricalDtype):
        return _numbers(text_of(series), ReadOptions(), (".", ""), unread)
    return series
