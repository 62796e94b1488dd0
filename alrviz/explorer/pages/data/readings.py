"""Two readings of one file side by side: the first rows that differ, and in them what differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from alrviz.data.parse_values import number_text
from alrviz.explorer.session.row_filter import as_numbers
from alrviz.views.core.style import safe

if TYPE_CHECKING:
    from alrviz.data.dataset import Table

ROWS, COLUMNS = 3, 4  # shown of each reading
LONGEST_CELL = 24
_MARKED = "background: color-mix(in srgb, var(--alrviz-accent) 24%, transparent); color: inherit; font-weight: 500"


@dataclass(frozen=True)
class Reading:
    """A part of a table as it was read: names, texts of cells (None: missing), and which of either differ."""

    names: tuple[str, ...]
    rows: tuple[tuple[str | None, ...], ...]
    changed_names: frozenset[int]
    changed_cells: frozenset[tuple[int, int]]
    size: str

    @property
    def html(self) -> str:
        """The reading as a small table."""
        head = "".join(
            f"<th>{_mark(safe(name, LONGEST_CELL), k in self.changed_names)}</th>" for k, name in enumerate(self.names)
        )
        body = "".join(
            f"<tr>{''.join(self._cell(i, k, text) for k, text in enumerate(row))}</tr>"
            for i, row in enumerate(self.rows)
        )
        return f"<div class='scroll'><table><tr>{head}</tr>{body}</table></div><p class='quiet'>{self.size}</p>"

    def _cell(self, row: int, column: int, text: str | None) -> str:
        shown = "<i>missing</i>" if text is None else safe(text, LONGEST_CELL)
        return f"<td>{_mark(shown, (row, column) in self.changed_cells)}</td>"


def compare_readings(now: "Table", other: "Table", about: Sequence[str] = ()) -> tuple[Reading, Reading]:
    """Return a part of both readings of a file; `about` are the columns in doubt, () for all."""
    alike = now.n_rows == other.n_rows and len(now.values) == len(other.values)
    if not alike:  # rows and columns do not stand for each other
        width = [range(min(COLUMNS, len(table.values))) for table in (now, other)]
        new = frozenset(k for k in width[1] if other.names[k] not in now.names)
        gone = frozenset(k for k in width[0] if now.names[k] not in other.names)
        return _part(now, width[0], range(ROWS), gone), _part(other, width[1], range(ROWS), new)
    differing = [k for k in range(len(now.values)) if now.names[k] != other.names[k] or _differ(now, other, k).any()]
    first = [k for k in differing if now.names[k] in about] or differing
    columns = sorted(dict.fromkeys((*first, *differing, *range(len(now.values)))), key=lambda k: k not in first)[
        :COLUMNS
    ]
    different = np.logical_or.reduce([_differ(now, other, k) for k in columns])
    rows = np.flatnonzero(different)[:ROWS] if different.any() else np.arange(min(ROWS, now.n_rows))
    columns.sort()
    names = frozenset(place for place, k in enumerate(columns) if now.names[k] != other.names[k])
    cells = frozenset(
        (i, place) for place, k in enumerate(columns) for i, row in enumerate(rows) if _differ(now, other, k)[row]
    )
    return _part(now, columns, rows, names, cells), _part(other, columns, rows, names, cells)


def _part(
    table: "Table",
    columns: Sequence[int],
    rows: Sequence[int] | np.ndarray,
    changed_names: frozenset[int] = frozenset(),
    changed_cells: frozenset[tuple[int, int]] = frozenset(),
) -> Reading:
    rows = [int(row) for row in rows if row < table.n_rows]
    texts = [[_text(table.values[k].series, row) for k in columns] for row in rows]
    size = f"{table.n_rows:,} rows, {len(table.values):,} columns"
    return Reading(tuple(table.names[k] for k in columns), tuple(map(tuple, texts)), changed_names, changed_cells, size)


def _differ(now: "Table", other: "Table", position: int) -> np.ndarray:
    """Return in which rows (N,) a column of both readings differs."""
    first, second = now.values[position].series, other.values[position].series
    if all(not isinstance(series.dtype, pd.CategoricalDtype) for series in (first, second)):
        left, right = as_numbers(first), as_numbers(second)
        return (left != right) & ~(np.isnan(left) & np.isnan(right))
    left, right = _texts(first), _texts(second)
    return np.asarray(left != right)


def _texts(series: pd.Series) -> np.ndarray:
    """Return a column as texts (N,), numbers as they are written; "" for a missing value."""
    codes, distinct = pd.factorize(series)
    texts = np.array([*(str(_plain(value)) for value in distinct), ""], dtype=object)
    return texts[codes]


def _text(series: pd.Series, row: int) -> str | None:
    value = series.iloc[row]
    return None if pd.isna(value) else str(_plain(value))


def _plain(value: object) -> object:
    if isinstance(value, pd.Timestamp):
        return str(value).removesuffix(" 00:00:00")
    return number_text(value) if isinstance(value, int | float | np.number) else value


def _mark(html: str, changed: bool) -> str:
    return f"<mark style='{_MARKED}'>{html}</mark>" if changed else html
