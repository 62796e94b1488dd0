"""Find the table among rows of cells, whether they are of a text or of a sheet.

    Sales by region             title
    region,price,class          row of names
    north,1.5,yes
    ...
    Total,1234,                 footer

Part of score.py in every model file.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from alrviz.data.doubts import Note
from alrviz.data.layout import (
    HEAD_ROWS,
    NameRows,
    common_width,
    count_footer,
    count_titles,
    drop_subtotals,
    join_stacked,
    kinds_by_name,
    largest_table,
    left_out,
    read_names,
)
from alrviz.data.options import ReadOptions
from alrviz.data.parse_spec import Layout
from alrviz.data.parse_values import clean_names
from alrviz.data.text import RawTable, TextColumn
from alrviz.stop import StopToken

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TableRegion:
    """Where a table is in its rows.

    Attributes:
        n_titles: rows before the names.
        names: the rows of names.
        n_footer: rows behind the table, as far as they were looked for.
        title: the last row before the names as a text; "" without one.
        notes: sentences on what was left out, and on the names.
    """

    n_titles: int
    names: NameRows
    n_footer: int
    title: str
    notes: list[str]

    @property
    def first_row(self) -> int:
        """The first row of values."""
        return self.n_titles + self.names.n_rows

    def named_table(
        self,
        columns: Sequence[TextColumn],
        in_force: ReadOptions,
        notes: Sequence[str],
        stop: StopToken,
        sheets: tuple[str, ...] = (),
    ) -> RawTable:
        """Return the columns under their names, without totals, stacked tables joined; `notes` come before its own."""
        names, renamed = clean_names(self.names.names, numbered=not self.names.n_rows)
        named = [
            TextColumn.from_codes(name, c.codes, c.levels, c.is_number) for name, c in zip(names, columns, strict=True)
        ]
        named, beside = largest_table(named, self.names.names)
        named, stacked = join_stacked(named, self.title, stop) if self.names.n_rows else (named, [])
        rows_kept, totals = drop_subtotals(named)
        is_parted = bool(beside or stacked) or rows_kept is not named
        kinds = kinds_by_name(names, self.names.kinds)
        notes = [*notes, *self.notes, *beside, *stacked, *totals, *renamed]
        return RawTable(rows_kept, in_force, notes, sheets, self.names.first, "text", kinds, is_stacked=is_parted)


def find_table(
    head: Rows,
    read_tail: Callable[[int], Rows],
    options: ReadOptions,
    expected: Collection[str] = (),
    known: Layout | None = None,
    *,
    width: int | None = None,
    is_whole: bool = False,
) -> TableRegion:
    """Return where the table is.

    Args:
        head: the first rows; those that `options` skip are left out.
        read_tail: returns the last rows, of those behind so many titles.
        options: `header` is used; titles and footers are looked for where `skip_rows` and `skip_footer` are None.
        expected: names that the caller gave.
        known: the names of a table like it that was read before.
        width: how many columns there are (default: as most rows have).
        is_whole: whether `head` has all rows.
    """
    declared = width is not None
    width = width or common_width(head[:HEAD_ROWS])
    notes = list[str]()
    n_titles = count_titles(head[:HEAD_ROWS], width) if options.skip_rows is None else 0
    if n_titles:
        notes.append(left_out([_line(row) for row in head[:n_titles]], "before the names"))
    n_footer = 0
    if options.skip_footer is None:
        tail = read_tail(n_titles)
        n_footer = count_footer(tail, width)
        notes += [behind_table(tail[-n_footer:])] if n_footer else []
    rows = head[n_titles:]
    if is_whole:
        rows = rows[: max(1, len(rows) - n_footer)]
    names = read_names(rows[:HEAD_ROWS], width, options.header, expected, known, declared=declared)
    return TableRegion(n_titles, names, n_footer, _line(head[n_titles - 1]) if n_titles else "", [*notes, *names.notes])


def behind_table(rows: Rows) -> Note:
    """Return the note on rows that were left out behind a table."""
    return left_out([_line(row) for row in rows], "behind the table")


def _line(row: Sequence[str]) -> str:
    return " ".join(cell.strip() for cell in row if cell.strip())
