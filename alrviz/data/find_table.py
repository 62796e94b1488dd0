"""Find the table among the rows of a text or a sheet.

    Sales by region             title
    region,price,class          row of names
    north,1.5,yes
    ...
    Total,1234,                 footer

Part of score.py in every model file.
"""

from collections.abc import Callable, Sequence
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
    omitted_lines_note,
    read_names,
)
from alrviz.data.options import ReadOptions
from alrviz.data.parse_values import clean_names
from alrviz.data.text import RawTable, ReadRequest, TextColumn
from alrviz.stop import StopToken

Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TableRegion:
    """The position of a table among rows.

    Attributes:
        n_titles: number of rows before the names.
        names: the rows of names.
        n_footer: number of rows behind the table; 0 if they were not looked for.
        title: the text of the last row before the names; "" without one.
        notes: sentences on lines that were left out, and on the names.
    """

    n_titles: int
    names: NameRows
    n_footer: int
    title: str
    notes: list[str]

    @property
    def first_row(self) -> int:
        """The index of the first row of values."""
        return self.n_titles + self.names.n_rows

    def named_table(
        self,
        columns: Sequence[TextColumn],
        in_force: ReadOptions,
        notes: Sequence[str],
        stop: StopToken,
        sheets: tuple[str, ...] = (),
    ) -> RawTable:
        """Return the named columns as a table: the largest one side by side, stacked ones joined, without totals.

        `notes` are put before the region's own.
        """
        names, name_notes = clean_names(self.names.names, numbered=not self.names.n_rows)
        tables = [
            TextColumn.from_codes(name, c.codes, c.levels, c.is_number) for name, c in zip(names, columns, strict=True)
        ]
        tables, beside_notes = largest_table(tables, self.names.names)
        tables, stacked_notes = join_stacked(tables, self.title, stop) if self.names.n_rows else (tables, [])
        rows_kept, total_notes = drop_subtotals(tables)
        is_parted = bool(beside_notes or stacked_notes) or rows_kept is not tables
        kinds = kinds_by_name(names, self.names.kinds)
        notes = [*notes, *self.notes, *beside_notes, *stacked_notes, *total_notes, *name_notes]
        return RawTable(rows_kept, in_force, notes, sheets, self.names.first, "text", kinds, is_stacked=is_parted)


def find_table(
    head: Rows,
    read_tail: Callable[[int], Rows],
    request: ReadRequest,
    *,
    width: int | None = None,
    is_whole: bool = False,
) -> TableRegion:
    """Return the position of the table.

    Args:
        head: the first rows, without those that the options skip.
        read_tail: returns the last rows, given the number of title rows.
        request: its options `skip_rows` and `skip_footer` are None if titles and footers are to be detected.
        width: number of columns (default: the commonest number of cells).
        is_whole: whether `head` has all rows.
    """
    declared = width is not None
    width = width or common_width(head[:HEAD_ROWS])
    notes = list[str]()
    n_titles = count_titles(head[:HEAD_ROWS], width) if request.options.skip_rows is None else 0
    if n_titles:
        notes.append(omitted_lines_note([_line(row) for row in head[:n_titles]], "before the names"))
    n_footer = 0
    if request.options.skip_footer is None:
        tail = read_tail(n_titles)
        n_footer = count_footer(tail, width)
        notes += [footer_note(tail[-n_footer:])] if n_footer else []
    rows = head[n_titles:]
    if is_whole:
        rows = rows[: max(1, len(rows) - n_footer)]
    names = read_names(rows[:HEAD_ROWS], width, request, declared=declared)
    return TableRegion(n_titles, names, n_footer, _line(head[n_titles - 1]) if n_titles else "", [*notes, *names.notes])


def footer_note(rows: Rows) -> Note:
    """Return the note on rows behind the table."""
    return omitted_lines_note([_line(row) for row in rows], "behind the table")


def _line(row: Sequence[str]) -> str:
    return " ".join(cell.strip() for cell in row if cell.strip())
