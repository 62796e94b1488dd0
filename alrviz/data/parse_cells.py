"""Parse columns by their specs: training, new rows, streams and score.py all use `parse_column`.

A value that does not fit its spec (a date in another order, an unknown unit, a word among numbers) is missing, and
counted by column. Part of score.py in every model file: it needs only the standard library, numpy and pyarrow.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from alrviz.data.parse_spec import ColumnSpec, ParsedValues
from alrviz.data.parse_values import as_floats, level_text, rows_above
from alrviz.data.text import TextColumn
from alrviz.errors import TableError, plural, short
from alrviz.stop import NEVER, StopToken

SourceColumn: TypeAlias = "TextColumn | pa.Array"  # text, or numbers and dates of the source's type
EXAMPLES = 3  # unreadable texts that a note names


def source_column(name: str, values: "pa.Array") -> SourceColumn:
    """Return an arrow array of any type (N,) as numbers, dates or texts."""
    if isinstance(values, pa.DictionaryArray):
        if pa.types.is_string(values.dictionary.type):
            codes = values.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
            return TextColumn.from_codes(name, codes, values.dictionary)
        values = values.dictionary_decode()
    arrow_type = values.type
    if pa.types.is_integer(arrow_type) or pa.types.is_floating(arrow_type) or pa.types.is_decimal(arrow_type):
        return values.cast(pa.float64())
    if pa.types.is_timestamp(arrow_type) or pa.types.is_date(arrow_type):
        return values.cast(pa.timestamp("us"))
    if not (pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type)):
        values = pa.array([None if value is None else str(value) for value in values.to_pylist()], type=pa.string())
    return TextColumn.from_arrow(name, values.cast(pa.string()))


def _filled_cells(column: SourceColumn) -> SourceColumn:
    """Return a column with the value above in each empty row."""
    if isinstance(column, TextColumn):
        return column.filled_cells
    rows = rows_above(column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False))
    return column.take(pa.array(np.maximum(rows, 0)))  # the first rows are empty where nothing is above


def parse_column(column: SourceColumn, spec: ColumnSpec) -> ParsedValues:
    """Return the value of each row (N,), and the mask (N,) of unreadable rows; empty cells are filled beforehand."""
    if not isinstance(column, TextColumn):
        if pa.types.is_floating(column.type):
            return spec.take_numbers(column.to_numpy(zero_copy_only=False))
        if spec.type == "date":
            dates = column.to_numpy(zero_copy_only=False)
            return spec.take_dates(dates), np.zeros(len(dates), dtype=bool)
        column = TextColumn.from_values(spec.source, [value and str(value) for value in column.to_pylist()])
    level_values, is_unreadable_level = spec.parse_texts(column.levels)
    values = np.concatenate([level_values, spec.gap])[column.codes]
    bad = np.append(is_unreadable_level, False)[column.codes]
    if column.is_number is not None and spec.type == "number":
        number_rows = np.flatnonzero(column.is_number & (column.codes >= 0))
        distinct_codes, inverse = np.unique(column.codes[number_rows], return_inverse=True)
        numbers = as_floats(column.levels.take(pa.array(distinct_codes)), ".", "")
        values[number_rows], bad[number_rows] = spec.take_numbers(numbers[inverse])
    return values, bad


@dataclass
class ParseErrorCounts:
    """The numbers of unreadable (`bad`) and readable (`read`) values of a column, over all rows."""

    value_description: str  # what was expected, see `ColumnSpec.value_description`
    example: str  # unreadable texts, for a sentence
    hint: str  # advice, see `ColumnSpec.hint`
    bad: int = 0
    read: int = 0

    @classmethod
    def count_rows(
        cls, column: SourceColumn, spec: ColumnSpec, parsed: ParsedValues, unread: dict[int, list[str]]
    ) -> "ParseErrorCounts":
        """Count the values of some rows, and add the unreadable ones to `unread` by row."""
        values, bad = parsed
        is_present = values == values if values.dtype != object else values != None  # noqa: E711 (of each value)
        unreadable_rows = np.flatnonzero(bad)
        texts = _texts_at(column, unreadable_rows) if len(unreadable_rows) else []
        for row, text in zip(unreadable_rows.tolist(), texts, strict=True):
            unread.setdefault(row, []).append(f"{spec.source}={text} (not {spec.value_description})")
        example = ", ".join(map(short, list(dict.fromkeys(texts[:1000]))[:EXAMPLES]))
        return cls(spec.value_description, example, spec.hint, len(unreadable_rows), int(is_present.sum()))

    def plus(self, counts: "ParseErrorCounts") -> "ParseErrorCounts":
        """Return the sum of two counts."""
        counts_with_example = self if self.bad else counts
        return replace(counts_with_example, bad=self.bad + counts.bad, read=self.read + counts.read)

    def note(self, name: str) -> str:
        """Return a sentence on the unreadable values of the column `name`."""
        values_text = plural(self.bad, "value")
        return f"{values_text} of {name!r} cannot be read as {self.value_description}, such as {self.example}: missing"

    def refusal(self, name: str, table: str) -> str:
        """Return why the column `name` is refused: all of its two or more values are unreadable; "" otherwise.

        `table` describes the table whose spec it is.
        """
        if self.bad < 2 or self.read:
            return ""
        advice = self.hint or "; options (decimal, thousands, missing) say how these rows are to be read"
        return (
            f"column {name!r} cannot be read: none of its {self.bad:,} values, such as {self.example}, is "
            f"{self.value_description}, as in {table}{advice}"
        )


def _texts_at(column: SourceColumn, rows: "np.ndarray") -> list[str]:
    """Return the texts of some rows (n,) that are not missing."""
    if isinstance(column, TextColumn):
        levels = column.levels.to_pylist()
        return [levels[code] for code in column.codes[rows].tolist()]
    return [level_text(value) for value in column.take(pa.array(rows)).to_pylist()]


Counts = dict[str, ParseErrorCounts]  # by column of the source


def parse_features(
    columns: Mapping[str, SourceColumn], specs: Sequence[ColumnSpec], counts: Counts, stop: StopToken = NEVER
) -> tuple[list["np.ndarray"], dict[int, list[str]]]:
    """Return the values (N,) of each feature, and by row the unreadable values: "age=abc (not a number)".

    The numbers of readable and unreadable values are added to `counts`.
    """
    features, unread, counted_sources = list[Any](), dict[int, list[str]](), set[str]()
    for spec in specs:
        stop.check()
        column = _filled_cells(columns[spec.source]) if spec.fill_down else columns[spec.source]
        parsed = parse_column(column, spec)
        features.append(parsed[0])
        if spec.source not in counted_sources:  # a date has several features, but is counted once
            count = ParseErrorCounts.count_rows(column, spec, parsed, unread)
            counts[spec.source] = counts[spec.source].plus(count) if spec.source in counts else count
            counted_sources.add(spec.source)
    return features, unread


def check_counts(counts: Mapping[str, ParseErrorCounts], table: str = "the table that the model learned from") -> None:
    """Raise `TableError` for a column without any readable value; `table` describes the table whose spec it is."""
    for name, count in counts.items():
        if refusal := count.refusal(name, table):
            raise TableError(refusal)


def count_notes(counts: Mapping[str, ParseErrorCounts]) -> list[str]:
    """Return a sentence for each column with unreadable values."""
    return [count.note(name) for name, count in counts.items() if count.bad]
