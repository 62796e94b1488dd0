"""Two readings of one file side by side: the first rows that differ, with the differences marked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alrviz.data.parse_values import number_text
from alrviz.explorer.session.row_filter import as_numbers
from alrviz.views.core.style import html_table, safe

if TYPE_CHECKING:
    from alrviz.data.table import Table

MAX_ROWS, MAX_COLUMNS = 3, 4  # of each reading
MAX_CELL_CHARS = 24
_MARK_STYLE = "background: color-mix(in srgb, var(--alrviz-accent) 24%, transparent); color: inherit; font-weight: 500"


@dataclass(frozen=True)
class Reading:
    """A part of a table as it was read.

    Attributes:
        names: of the columns in the part.
        rows: texts of the cells of each row; None for missing values.
        changed_names: positions in `names` that differ from the other reading.
        changed_cells: (row, column) in `rows` that differ from the other reading.
        size: rows and columns of the whole table, as text.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    changed_names: frozenset[int]
    changed_cells: frozenset[tuple[int, int]]
    size: str

    @property
    def table_html(self) -> str:
        """The reading as a small table."""
        headings = (
            _highlighted_html(safe(name, MAX_CELL_CHARS), k in self.changed_names) for k, name in enumerate(self.names)
        )
        rows = ([self._cell_html(i, k, text) for k, text in enumerate(row)] for i, row in enumerate(self.rows))
        return f"{html_table(headings, rows)}<p class='quiet'>{self.size}</p>"

    def _cell_html(self, row: int, column: int, text: str | None) -> str:
        cell_html = "<i>missing</i>" if text is None else safe(text, MAX_CELL_CHARS)
        return _highlighted_html(cell_html, (row, column) in self.changed_cells)


def compare_readings(current: "Table", alternative: "Table", doubted: Sequence[str] = ()) -> tuple[Reading, Reading]:
    """Return a part of both readings of a file. doubted: names of the columns in doubt, () for all."""
    same_shape = current.n_rows == alternative.n_rows and len(current.values) == len(alternative.values)
    if not same_shape:  # rows and columns do not correspond
        columns_shown = [range(min(MAX_COLUMNS, len(table.values))) for table in (current, alternative)]
        new_names = frozenset(k for k in columns_shown[1] if alternative.names[k] not in current.names)
        lost_names = frozenset(k for k in columns_shown[0] if current.names[k] not in alternative.names)
        current_part = _reading_part(current, columns_shown[0], range(MAX_ROWS), lost_names)
        return current_part, _reading_part(alternative, columns_shown[1], range(MAX_ROWS), new_names)
    differing_columns = [
        k
        for k in range(len(current.values))
        if current.names[k] != alternative.names[k] or _differs_by_row(current, alternative, k).any()
    ]
    doubted_columns = [k for k in differing_columns if current.names[k] in doubted] or differing_columns
    columns = sorted(
        dict.fromkeys((*doubted_columns, *differing_columns, *range(len(current.values)))),
        key=lambda k: k not in doubted_columns,
    )[:MAX_COLUMNS]
    differs = np.logical_or.reduce([_differs_by_row(current, alternative, k) for k in columns])
    rows = np.flatnonzero(differs)[:MAX_ROWS] if differs.any() else np.arange(min(MAX_ROWS, current.n_rows))
    columns.sort()
    changed_names = frozenset(j for j, k in enumerate(columns) if current.names[k] != alternative.names[k])
    changed_cells = frozenset(
        (i, j)
        for j, k in enumerate(columns)
        for i, row in enumerate(rows)
        if _differs_by_row(current, alternative, k)[row]
    )
    current_part = _reading_part(current, columns, rows, changed_names, changed_cells)
    return current_part, _reading_part(alternative, columns, rows, changed_names, changed_cells)


def _reading_part(
    table: "Table",
    columns: Sequence[int],
    rows: Sequence[int] | np.ndarray,
    changed_names: frozenset[int] = frozenset(),
    changed_cells: frozenset[tuple[int, int]] = frozenset(),
) -> Reading:
    """Return these rows and columns of a table; changed_cells: (row, column) in the part."""
    rows = [int(row) for row in rows if row < table.n_rows]
    cell_texts = [[_cell_text(table.values[k].series, row) for k in columns] for row in rows]
    size_text = f"{table.n_rows:,} rows, {len(table.values):,} columns"
    return Reading(
        tuple(table.names[k] for k in columns), tuple(map(tuple, cell_texts)), changed_names, changed_cells, size_text
    )


def _differs_by_row(current: "Table", alternative: "Table", position: int) -> np.ndarray:
    """Return whether a column's value differs between both readings, for each row (N,)."""
    current_column, alternative_column = current.values[position].series, alternative.values[position].series
    if all(not isinstance(series.dtype, pd.CategoricalDtype) for series in (current_column, alternative_column)):
        current_values, alternative_values = as_numbers(current_column), as_numbers(alternative_column)
        return (current_values != alternative_values) & ~(np.isnan(current_values) & np.isnan(alternative_values))
    current_values, alternative_values = _column_texts(current_column), _column_texts(alternative_column)
    return np.asarray(current_values != alternative_values)


def _column_texts(series: pd.Series) -> np.ndarray:
    """Return a column as texts (N,); "" for a missing value."""
    codes, distinct = pd.factorize(series)
    texts = np.array([*(str(_printable_value(value)) for value in distinct), ""], dtype=object)
    return texts[codes]


def _cell_text(series: pd.Series, row: int) -> str | None:
    value = series.iloc[row]
    return None if pd.isna(value) else str(_printable_value(value))


def _printable_value(value: object) -> object:
    """Return numbers and dates as short texts, other values as they are."""
    if isinstance(value, pd.Timestamp):
        return str(value).removesuffix(" 00:00:00")
    return number_text(value) if isinstance(value, int | float | np.number) else value


def _highlighted_html(html: str, is_different: bool) -> str:
    return f"<mark style='{_MARK_STYLE}'>{html}</mark>" if is_different else html
