"""Typed columns: numbers, dates or categories, parsed from any source by a `ColumnSpec`.

`read_column` parses the columns of training tables, and of tables that are read by a spec; `parse_cells` those of new
rows. Both use the same specs.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import union_categoricals

from alrviz.data.missing import without_numbers
from alrviz.data.numbers import are_whole
from alrviz.data.parse_cells import SourceColumn, parse_column
from alrviz.data.parse_spec import ColumnSpec
from alrviz.data.parse_values import DATE_PARTS, number_text, rows_above
from alrviz.data.text import TextColumn, all_match
from alrviz.errors import TableError, short

MAX_WRITTEN_LEVELS = 10_000  # of numbers; with more, their texts are not kept
OWN_TEXT = r"^-?(0|[1-9][0-9]*)(\.0|\.[0-9]*[1-9])?$"  # the notation of numbers that programs write


@dataclass(frozen=True)
class Values:
    """One column with a type: `series` is int64, float64, datetime64 or categorical of strings.

    Attributes:
        declared: the kind that its source states (a DataFrame's dtype, an ARFF type), None if it is to be guessed.
        hint: a remark on the guess of its kind.
        is_derived: whether it was derived from another column.
        spec: how its cells are parsed, once that is decided.
        numbered: whether the levels were numbers in the source.
        missing_texts: the texts of its cells that were read as missing.
        texts: the cells of a column of numbers, if they differ from the numbers' usual notation (1.10, 1E5).
    """

    name: str
    series: pd.Series
    declared: str | None = None
    hint: str = ""
    is_derived: bool = False
    spec: ColumnSpec | None = None
    numbered: bool = False
    missing_texts: tuple[str, ...] = ()
    texts: TextColumn | None = None

    @property
    def dtype_kind(self) -> str:
        """numpy's letter for the dtype: "i", "f" or "M"; "O" for categories."""
        return self.series.dtype.kind if isinstance(self.series.dtype, np.dtype) else "O"

    @property
    def filled_cells(self) -> "Values":
        """The column with the value above in each empty row."""
        is_empty = self.series.isna() | (self.series == "") if self.dtype_kind == "O" else self.series.isna()
        return self.take_rows(rows_above(is_empty.to_numpy()), self.name)

    @property
    def as_text(self) -> TextColumn:
        """The column as text, with numbers in their usual notation."""
        if self.dtype_kind in "if":
            coded = pa.array(self.series.to_numpy() + 0, from_pandas=True).dictionary_encode()  # + 0 makes -0.0 0.0
            numbers = [number_text(number) for number in coded.dictionary.to_numpy()]
            codes = coded.indices.fill_null(-1).to_numpy().astype(np.int32)
            return TextColumn.from_codes(self.name, codes, pa.array(numbers, type=pa.string()))
        if self.dtype_kind == "O":
            text = text_of(self.series)
            return replace(text, is_number=text.codes >= 0) if self.numbered else text
        texts = [None if gap else str(v) for v, gap in zip(self.series, self.series.isna(), strict=True)]
        return TextColumn.from_values(self.name, texts)

    def take_rows(self, rows: np.ndarray, name: str) -> "Values":
        """Return the rows of these numbers (n,), -1 for one without value, as a column of this name."""
        series = self.series.reindex(rows).reset_index(drop=True).rename(name)
        if self.dtype_kind == "O":
            series = series.cat.remove_unused_categories()
        spec = replace(self.spec, name=name, source=name) if self.spec and name != self.name else self.spec
        return replace(self, name=name, series=series, spec=spec, texts=self.texts and self.texts.take_rows(rows, name))

    def select_rows(self, keep: np.ndarray) -> "Values":
        """Return the rows of a mask (N,), without levels that no longer occur."""
        return self.take_rows(np.flatnonzero(keep), self.name)


def text_of(series: pd.Series) -> TextColumn:
    """Return a categorical Series of strings as a column of text."""
    categories = pa.array(series.cat.categories.astype(object), type=pa.string())
    return TextColumn(str(series.name), series.cat.codes.to_numpy().astype("int32"), categories)


def spec_of_typed(column: Values, missing: tuple[str, ...] = ("",), day_first: bool | None = None) -> ColumnSpec:
    """Return the spec of a typed column, by which later rows that are text are parsed: numbers, dates or levels."""
    name = column.name
    if column.dtype_kind in "if":
        return ColumnSpec(name, name, "number", "numeric", missing=missing)
    if column.dtype_kind == "M":
        return ColumnSpec(name, name, "date", missing=missing, day_first=day_first)
    levels = set(column.series.cat.categories)
    return ColumnSpec(name, name, missing=tuple(token for token in missing if token not in levels))


def join_columns(parts: Sequence[TextColumn | Values]) -> TextColumn | Values:
    """Return the rows of a column in several files or batches as one; `TableError` if these have different types."""
    text_parts = [part for part in parts if isinstance(part, TextColumn)]
    if len(text_parts) == len(parts):
        return TextColumn.joined(text_parts)
    typed_parts = [part for part in parts if isinstance(part, Values)]
    series, first_part = [part.series for part in typed_parts], typed_parts[0]
    type_kinds = {part.dtype_kind.replace("i", "f") for part in typed_parts}
    if text_parts or len(type_kinds) > 1:
        raise TableError(f"column {short(first_part.name)} is not of one type in all files or batches; save them alike")
    joined = pd.Series(union_categoricals(series, ignore_order=True)) if type_kinds == {"O"} else pd.concat(series)
    result = replace(first_part, series=joined.rename(first_part.name).reset_index(drop=True))
    if any(part.texts is not None for part in typed_parts):
        result = replace(result, texts=TextColumn.joined([part.texts or part.as_text for part in typed_parts]))
    if any(part.spec != first_part.spec for part in typed_parts):  # files were parsed differently
        missing = tuple(dict.fromkeys(token for part in typed_parts if part.spec for token in part.spec.missing))
        result = replace(result, spec=spec_of_typed(result, missing))
    return result


def source_cells(column: TextColumn | Values) -> SourceColumn:
    """Return a column in the form that `parse_column` accepts."""
    if isinstance(column, Values) and column.dtype_kind in "if":
        return pa.array(column.series.to_numpy(dtype=np.float64))
    if isinstance(column, Values) and column.dtype_kind == "M":
        return pa.array(column.series.to_numpy(dtype="datetime64[us]"))
    return column.as_text


def read_column(column: TextColumn | Values, spec: ColumnSpec) -> tuple[Values, np.ndarray]:
    """Return a column parsed by its spec, and the mask (N,) of unreadable rows; empty cells are filled beforehand."""
    series, bad = read_values(column, spec)
    if isinstance(column, Values) and not spec.part:
        return replace(column, name=spec.name, series=series, spec=spec), bad
    written_texts, missing_texts = None, ()
    if isinstance(column, TextColumn) and not spec.part:
        tokens = column.levels.filter(pc.is_in(column.levels, value_set=pa.array(spec.missing, pa.string())))
        missing_texts = tuple(filter(None, tokens.to_pylist()))
    if isinstance(column, TextColumn) and spec.type == "number" and len(column.levels) <= MAX_WRITTEN_LEVELS:
        is_usual = all_match(column.without_texts(spec.missing).levels, OWN_TEXT)  # 1.10 and 1E5 are not
        written_texts = None if is_usual else column
    result = Values(
        spec.name, series, is_derived=bool(spec.part), spec=spec, missing_texts=missing_texts, texts=written_texts
    )
    return result, bad


def read_values(column: TextColumn | Values, spec: ColumnSpec) -> tuple[pd.Series, np.ndarray]:
    """Return a column parsed by its spec, in the form of `Dataset.frame`, and the mask (N,) of unreadable rows."""
    labels = DATE_PARTS.get(spec.part, ())
    is_number = spec.type in ("number", "time") or (spec.type == "date" and bool(spec.part) and not labels)
    typed_kinds = {"number": "if", "date": "M"}.get(spec.type, "")
    if isinstance(column, Values) and not spec.part and column.dtype_kind in typed_kinds:
        # Numbers and dates of the source's type are not parsed again, and not copied.
        return without_numbers(column.series.rename(spec.name), spec.missing), np.zeros(len(column.series), dtype=bool)
    if spec.type == "levels":
        series = _read_levels(column, spec)
        return series, np.zeros(len(series), dtype=bool)
    values, bad = parse_column(source_cells(column), replace(spec, kind="numeric" if is_number else "categorical"))
    if labels:
        return _in_order(pd.Series(pd.Categorical(values), name=spec.name), labels), bad
    if is_number and not np.isnan(values).any() and are_whole(values):
        values = values.astype(np.int64)
    return pd.Series(values, name=spec.name), bad


def _read_levels(column: TextColumn | Values, spec: ColumnSpec) -> pd.Series:
    """Return a column as a categorical of the spec's levels, in their order."""
    text = column.as_text
    levels = spec.rename_levels(text.levels)
    if levels is text.levels:  # as they are, categories of the source in their order
        series = column.series if isinstance(column, Values) and column.dtype_kind == "O" else text.categorical()
        return _in_order(series.rename(spec.name), spec.order)
    encoded = levels.dictionary_encode()
    code_of_level = np.append(encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), -1).astype(np.int32)
    return _in_order(
        TextColumn.from_codes(spec.name, code_of_level[text.codes], encoded.dictionary).categorical(), spec.order
    )


def _in_order(series: pd.Series, order: Sequence[str]) -> pd.Series:
    """Return a categorical with its levels in this order, followed by further ones."""
    if not order:
        return series
    levels = set(series.cat.categories)
    ordered_levels = [level for level in order if level in levels]
    return series.cat.set_categories(
        [*ordered_levels, *(level for level in series.cat.categories if level not in ordered_levels)]
    )
